// Finds what belongs to a job on this machine, and removes what is left of it when mpirun has
// ended: processes, which have the job's token in their environment, and files of OpenMPI. Other
// jobs are not affected.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lockstep {

/// The variable that holds a job's token.
inline constexpr const char* kJobTokenVariable = "LOCKSTEP_JOB_TOKEN";

/// 32 random hexadecimal digits.
std::string make_job_token();

/// The running ranks that this mpirun has started on this machine.
std::vector<pid_t> ranks_of(pid_t mpirun);

/// The running processes of this machine, without the calling one, that were started with this
/// value of an environment variable. Those of other users are not seen.
std::vector<pid_t> processes_with(const std::string& variable, const std::string& value);
/// Those whose environment has the token.
std::vector<pid_t> processes_of_job(const std::string& token);

/// Gives the job's processes two seconds to notice that mpirun has ended, kills the others, and
/// waits until all have released their memory, their files and locks. A process that ends has no
/// environment any more: those of this session are waited for, 12 s at most. Returns the number of
/// killed processes.
int end_processes_of_job(const std::string& token);

/// Removes from /dev/shm the segments of the jobs whose mpirun had its session below `folder`.
/// OpenMPI does so itself unless it is killed.
void remove_segments(const std::string& folder);

}  // namespace lockstep
