// Timing on a machine whose every rank computes: the same work runs on as many threads as there
// are ranks, all the time. Least times are kept: what else the machine does only makes it slower.
#pragma once

#include <functional>

namespace lockstep {

/// Makes what one thread runs, with memory of its own; called on that thread.
using MakeWork = std::function<std::function<void()>()>;

/// The thread's own time does not count what other programs take from it; wall time does, and is
/// the one that tells when threads share memory's bandwidth, or one piece of work.
enum class Time { kThread, kWall };

/// The least seconds that a thread took for one call, while all of them ran. Each calls at least
/// twice after a first call that is not timed, and for at least `seconds`.
double least_seconds(const MakeWork& make_work, int threads, double seconds, Time time);

}  // namespace lockstep
