// How fast this machine's memory and caches are.
#pragma once

#include <cstdint>

#include "core/ir/machine_limits.h"

namespace lockstep {

/// Copy (std::memcpy) and triad of `threads` threads at once, each going over `working_set` bytes
/// of its own for at least `seconds`; the least wall time in which all had done their part counts.
/// Triad uses the target's vectors.
MemoryRate measure_bandwidth(const Target& target, int threads, std::int64_t working_set,
                             double seconds);

/// The working set of a thread that lies beyond the caches: 192 MiB, as in STREAM's three arrays of
/// 64, or less where `threads` times that would take over a quarter of what is available.
std::int64_t set_beyond_caches(int threads);

}  // namespace lockstep
