// Measures the bandwidth of this machine's memory and caches.
#pragma once

#include <cstdint>

#include "core/ir/machine_limits.h"

namespace lockstep {

/// Copy (std::memcpy) and triad on `threads` threads at once. Each thread works on its own
/// `working_set` bytes for at least `seconds`; the minimum wall time in which all threads did their
/// part counts. Triad uses the target's vectors.
MemoryRate measure_bandwidth(const Target& target, int threads, std::int64_t working_set,
                             double seconds);

/// A thread's working set in bytes that is larger than the caches: 192 MiB, as in STREAM's three
/// arrays of 64, or less if `threads` times that is over a quarter of the available memory.
std::int64_t set_beyond_caches(int threads);

}  // namespace lockstep
