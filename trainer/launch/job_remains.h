// What belongs to a job on this machine, and what is left of it when mpirun has ended: processes,
// which carry the job's token in their environment, and files of OpenMPI. Nothing of another job is
// touched.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lockstep {

/// The variable that holds a job's token.
inline constexpr const char* kJobTokenVariable = "LOCKSTEP_JOB_TOKEN";

/// 32 random hexadecimal digits.
std::string make_job_token();

/// The ranks that this mpirun has started on this machine and that have not ended.
std::vector<pid_t> ranks_of(pid_t mpirun);

/// The processes of this machine, without the calling one, whose environment has the token.
std::vector<pid_t> processes_of_job(const std::string& token);

/// Gives the job's processes two seconds to see that mpirun has gone, and kills those that are
/// left. Returns how many those were.
int end_processes_of_job(const std::string& token);

/// Removes from /dev/shm the segments of those jobs whose mpirun had its session below `folder`:
/// OpenMPI does so itself unless it is killed.
void remove_segments(const std::string& folder);

}  // namespace lockstep
