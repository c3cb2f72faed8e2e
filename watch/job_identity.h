// The job that a process belongs to, as its launcher put it into the environment: known from the
// process's first instant on, and readable by the other processes of the same user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

struct JobIdentity {
  std::string job;     ///< equal for all ranks of a job on one node, different for other jobs
  int rank = 0;        ///< in MPI_COMM_WORLD
  int size = 1;        ///< of the job
  int local_size = 1;  ///< ranks on this node; 0 if the launcher does not say
};

/// Parses the contents of /proc/PID/environ: "NAME=value" strings, each ended by a zero. nullopt
/// for a process that no launcher started. Supports OpenMPI's mpirun, PMIx, and Slurm's srun.
std::optional<JobIdentity> parse_job_identity(std::string_view environment);

/// The identity of a process of this machine; nullopt also if its environment cannot be read.
std::optional<JobIdentity> job_identity_of(std::int64_t pid);

}  // namespace lockstep
