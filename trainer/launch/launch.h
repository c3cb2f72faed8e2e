// `lockstep launch`: runs a job under mpirun and watches it from outside. It ends when the job
// ends, even if ranks, hosts, the network or mpirun itself fail, and leaves nothing behind on this
// machine.
#pragma once

#include <string>
#include <vector>

#include "trainer/launch/mpirun_words.h"
#include "trainer/launch/slurm_job.h"
#include "watch/limits.h"

namespace lockstep {

struct LaunchOptions {
  int ranks = 1;
  std::vector<Host> hosts;
  std::string hostfile;
  int max_restarts = 0;
  bool in_allocation = false;        ///< without hosts and hostfile, mpirun may find other hosts
  std::string tcp_interfaces;        ///< the interfaces that reach the other hosts; empty for any
  std::string program;               ///< its path; empty for lockstep itself
  std::vector<std::string> command;  ///< its words: {"train", "CONFIG", ...}
  WatchLimits limits;                ///< of the command, as far as they are known on this machine
  /// The folder on this machine to which the command writes checkpoints; empty if it writes none.
  std::string checkpoints;
  SlurmJob slurm;          ///< in which this process runs, if there is one
  bool requeue = false;    ///< gives that job back to Slurm; see below
  double max_seconds = 0;  ///< limit of one start: then the job is ended as lost; 0: no limit
  bool silent = false;     ///< drops what the job writes to standard output
};

/// Runs the command on all ranks and returns the exit code of the job:
///   that of the ranks, if all returned by themselves;
///   7 if a rank, a host or mpirun was lost, or the job stalled, more often than max_restarts. Only
///   this process can detect that the last of the ranks is stuck; see last_ranks.h;
///   75 if asked to stop (SIGTERM, SIGINT, SIGUSR1): it sends SIGUSR1 to the ranks, so that they
///   have time to save; 130 at once after a second SIGINT at least a second later.
///
/// A job that was lost, stalled, or failed for a reason that is not in its input (codes 2 to 6) is
/// started again: with --resume if it has saved a checkpoint, else from the start; another program
/// than lockstep with the same words. It is not if mpirun could start no rank and a host has no
/// address or does not answer.
///
/// With `requeue`, the batch job of Slurm is requeued after 75, and after a 7 that another
/// allocation may cure: if the job has saved a checkpoint in this one, or was requeued less often
/// than max_restarts.
int launch(const LaunchOptions& options);

}  // namespace lockstep
