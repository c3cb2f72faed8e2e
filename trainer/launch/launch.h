// `lockstep launch`: a job under mpirun, watched from outside. It ends when the job ends, whatever
// became of ranks, hosts, network and mpirun itself, and leaves nothing behind on this machine.
#pragma once

#include <string>
#include <vector>

#include "trainer/launch/mpirun_words.h"
#include "watch/limits.h"

namespace lockstep {

struct LaunchOptions {
  int ranks = 1;
  std::vector<Host> hosts;
  std::string hostfile;
  int max_restarts = 0;
  std::string tcp_interfaces;        ///< that reach the other hosts; empty for any
  std::vector<std::string> command;  ///< of lockstep: {"train", "CONFIG", ...}
  WatchLimits limits;                ///< of the command, as far as this machine knows them
  /// Where the command leaves checkpoints, as this machine sees it; empty if it leaves none.
  std::string checkpoints;
  double most_seconds = 0;  ///< of one start: then the job is ended, and is lost; 0: no limit
};

/// Runs the command on all ranks and returns the exit code of the job:
///   what the ranks returned, if all returned by themselves;
///   7 if a rank, a host or mpirun was lost, or the job stalled, more often than max_restarts. That
///   the last of its ranks is stuck nobody else can tell; see last_ranks.h;
///   75 if asked to stop (SIGTERM, SIGINT, SIGUSR1): the ranks are told by SIGUSR1, which leaves
///   them the time to save; 130 at once after a second SIGINT a second later.
///
/// A job that was lost, stalled, or failed for no reason that lies in its input (codes 2 to 6) is
/// started again: with --resume once it has saved a checkpoint, from the start before.
int launch(const LaunchOptions& options);

}  // namespace lockstep
