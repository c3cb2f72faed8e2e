// Jobs of this program on this machine that `lockstep calibrate` starts and measures.
#pragma once

#include <string>
#include <vector>

#include "core/ir/machine_limits.h"

namespace lockstep {

/// A folder for files that a job writes; removed with all that is in it.
class JobFolder {
 public:
  JobFolder();  ///< error kUsage if it cannot be made
  ~JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// How a job ended.
struct JobEnd {
  int interrupted = 0;       ///< the exit code for this process, if a signal asked it to end
  std::string problem = {};  ///< why the job failed; empty: it did not
  bool well() const { return interrupted == 0 && problem.empty(); }
};

/// Runs `lockstep COMMAND...` on so many ranks; nothing of its standard output is shown.
JobEnd run_job(int ranks, std::vector<std::string> command, double max_seconds);

/// The numbers of ranks of the jobs that measure sums: 2 and 4, of those up to `cores`.
std::vector<int> ranks_of_jobs(int cores);

/// From now on ranks of this process's job exchange over TCP, as if each were on a host of its own.
/// Called before there is a communicator.
void pretend_hosts();

/// Appends the sums that `lockstep calibrate HOW` measures on so many ranks; HOW is --all-reduce,
/// or that over TCP.
JobEnd add_sums_of_job(int ranks, const std::string& how, bool quick,
                       std::vector<AllReduceTime>& sums);

}  // namespace lockstep
