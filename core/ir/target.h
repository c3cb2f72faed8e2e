// What a program is compiled for. Everything here may change what a compilation produces; anything
// that must not (ranks, threads, shards per rank) has no place in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/settings.h"

namespace lockstep {

/// The widest vector instruction set that kernels may use.
enum class Isa : std::uint8_t { kAvx2, kAvx512 };

/// What multiplies bf16, if anything does so faster than f32 is multiplied. kNone: products of bf16
/// are f32 products of the widened operands, which loses nothing. kVectors: vdpbf16ps; kTiles: AMX.
enum class Bf16Units : std::uint8_t { kNone, kVectors, kTiles };

struct Target {
  Isa isa = Isa::kAvx512;
  Bf16Units bf16 = Bf16Units::kNone;
  std::size_t memory_bytes = 0;  ///< the device's limit; 0: none. The planner reports against it
};

/// The best target of this machine, from cpuid, within `max`. Error kUsage if it lacks AVX2 or FMA.
Target host_target(MaxIsa max = MaxIsa::kAuto);

}  // namespace lockstep
