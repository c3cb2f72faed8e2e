// Timing on a machine whose every rank computes: the same work runs on as many threads as there
// are ranks, all the time.
#pragma once

#include <functional>

namespace lockstep {

/// Makes what one thread runs, with memory of its own; called on that thread.
using MakeWork = std::function<std::function<void()>()>;

/// The thread's own time does not count what other programs take from it; wall time does, and is
/// the one that tells when threads share memory's bandwidth.
enum class Time { kThread, kWall };

/// The least seconds that a thread took for one call, while all of them ran. Each calls at least
/// twice after a first call that is not timed, and for at least `seconds`.
double least_seconds(const MakeWork& make_work, int threads, double seconds, Time time);

/// Bytes per second of one thread of a[i] = b[i] + s * c[i] on arrays far beyond the caches, while
/// the others do the same; 12 bytes an element, as STREAM counts.
double triad_bandwidth(int threads);

}  // namespace lockstep
