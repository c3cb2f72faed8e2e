// The cores that this process may use.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

int online_cores();

/// The numbers of the processors that this process may run on (its cpuset), ascending.
std::vector<int> usable_processors();

int usable_cores();  ///< how many these are

/// The folders of the control groups (version 2) that this process is in, from its own up to the
/// root's. `own` is as /proc/self/cgroup.
std::vector<std::string> control_groups(const std::string& root = "/sys/fs/cgroup",
                                        const std::string& own = "/proc/self/cgroup");

/// For how many cores' worth of time the control groups let a process run (cpu.max), which all
/// processes of a group share; nothing without a limit.
std::optional<double> core_quota(const std::vector<std::string>& groups = control_groups());

/// How many threads of this process can run at once: one on each usable processor, and no more than
/// whole cores of the quota; at least 1.
int runnable_threads();

/// Whether so many threads, of all processes of a job on this machine, can run at once; never on
/// one core.
bool has_cores_for(int threads);

}  // namespace lockstep
