// The batch job of Slurm in which `lockstep launch` runs, by Slurm's own commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// What the environment says of it.
struct SlurmJob {
  std::string name;   ///< as scontrol calls it: "7", or "7_2" of a job array; empty: there is none
  int restarts = 0;   ///< how often it was requeued before
  std::string nodes;  ///< "node[1-3]"
};

/// The value of `name` in what `scontrol show job --oneliner` prints; "" if it is not there.
std::string_view value_in(std::string_view line, std::string_view name);

/// Gives the job back to Slurm, to be started again, perhaps on other nodes; says what it did.
/// Slurm then sends SIGTERM to all processes of the job. A job that was cancelled, or is requeued
/// already, is left as it is.
std::string requeue(const SlurmJob& job);

/// The nodes one by one; none if scontrol does not say.
std::vector<std::string> node_names(const SlurmJob& job);

/// Shields the daemons by which mpirun starts ranks on the other nodes from SIGTERM, too, by a
/// variable of OpenMPI, unless the user has set that.
void shield_daemons();

}  // namespace lockstep
