// The target of a compilation. Every member may change the result of a compilation; values that
// must not (ranks, threads, micro-batches per rank) are not members.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/settings.h"

namespace lockstep {

/// The widest vector instruction set that kernels may use.
enum class Isa : std::uint8_t { kAvx2, kAvx512 };

/// The units that multiply bf16 faster than f32, if there are any. kNone: products of bf16 are f32
/// products of the widened operands, which are exact. kVectors: vdpbf16ps; kTiles: AMX.
enum class Bf16Units : std::uint8_t { kNone, kVectors, kTiles };

struct Target {
  Isa isa = Isa::kAvx512;
  Bf16Units bf16 = Bf16Units::kNone;
  std::size_t memory_bytes = 0;  ///< the device's limit; 0: none. The planner reports against it
};

/// The best target of this machine, from cpuid, up to `max`. Error kUsage if it lacks AVX2 or FMA.
Target host_target(MaxIsa max = MaxIsa::kAuto);

}  // namespace lockstep
