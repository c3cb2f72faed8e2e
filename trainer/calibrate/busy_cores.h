// Timing on a machine where every rank computes: the same work runs all the time on as many threads
// as there are ranks. The minimum times are kept, because other load can only add time.
#pragma once

#include <functional>

namespace lockstep {

/// Makes the work of one thread, with memory of its own; called on that thread.
using MakeWork = std::function<std::function<void()>()>;

/// The minimum seconds of wall time that a thread took for one call, while all of them ran. After a
/// first call that is not timed, each thread calls at least twice and for at least `seconds`. (A
/// thread's CPU time would leave other programs out, but on a virtual machine it stands still while
/// time that the host took is set off: calls then seem a third quicker than they are.)
double min_seconds(const MakeWork& make_work, int threads, double seconds);

}  // namespace lockstep
