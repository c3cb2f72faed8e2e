// Runs the points of a sweep, each as a job of its own: `lockstep train`, or on several ranks
// `lockstep launch`.
#pragma once

#include <functional>
#include <string>

#include "trainer/sweep/journal.h"

namespace lockstep {

struct SweepJobs {
  std::string config = {};  ///< the YAML file
  std::string folder = {};  ///< of the sweep
  int at_once = 1;          ///< points that run at the same time
  int ranks = 1;            ///< of each
  int threads = 0;          ///< of a rank's device; 0: as the config says
  /// Gets a line for each point that begins or ends.
  std::function<void(const std::string&)> say = {};
};

enum class SweepEnd : std::uint8_t {
  kFinished,     ///< no point waits any more
  kStopped,      ///< a signal asked it to stop, and its jobs have saved and ended
  kInterrupted,  ///< by a second SIGINT, which did not wait for them
  kUnfinished,   ///< somebody stopped points, not the sweep: they wait
};

/// Runs the points that wait until none does, rung by rung. The journal is written after every
/// change. SIGTERM, SIGINT and SIGUSR1 are passed on to the jobs as SIGUSR1, so that they save.
/// Only these jobs are ever ended; if this process is killed, each gets SIGINT from the kernel.
SweepEnd run_sweep_points(const SweepJobs& jobs, SweepJournal& journal);

/// Cores for each rank if `at_once` jobs of `ranks` ranks share this machine, 1 at least.
int threads_for(int at_once, int ranks);

}  // namespace lockstep
