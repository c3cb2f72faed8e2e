// Timing on a machine where every rank computes: the same work runs all the time on as many threads
// as there are ranks. The minimum times are kept, because other load can only add time.
#pragma once

#include <functional>

namespace lockstep {

/// Makes the work of one thread, with memory of its own; called on that thread.
using MakeWork = std::function<std::function<void()>()>;

/// The thread's CPU time excludes time that other programs take; wall time includes it. Wall time
/// is needed if threads share memory bandwidth or one piece of work.
enum class Time { kThread, kWall };

/// The minimum seconds that a thread took for one call, while all of them ran. After a first call
/// that is not timed, each thread calls at least twice and for at least `seconds`.
double min_seconds(const MakeWork& make_work, int threads, double seconds, Time time);

}  // namespace lockstep
