// What a program is compiled for. Everything here may change what a compilation produces; anything
// that must not (ranks, threads, shards per rank) has no place in it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

/// The widest vector instruction set that kernels may use.
enum class Isa : std::uint8_t { kAvx2, kAvx512 };

struct Target {
  Isa isa = Isa::kAvx512;
  std::size_t memory_bytes = 0;  ///< the device's limit; 0: none. The planner reports against it
};

/// The best target of this machine, from cpuid, within LOCKSTEP_MAX_ISA (base/settings.h).
Target host_target();

}  // namespace lockstep
