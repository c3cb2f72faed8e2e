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
  int interrupted = 0;      ///< the exit code for this process, if a signal asked it to end
  std::string problem = {};  ///< why the job failed; empty: it did not
};

/// Runs `lockstep COMMAND...` on so many ranks; nothing of its standard output is shown.
JobEnd run_job(int ranks, std::vector<std::string> command, double max_seconds);

/// The numbers of ranks of the jobs that measure sums: 2 and 4, of those up to `cores`.
std::vector<int> ranks_of_jobs(int cores);

/// Appends the sums over each of these numbers of ranks. A job that fails is left out with a
/// warning. Returns the exit code if a signal asked this process to end; else 0.
int add_sums_of_jobs(const std::vector<int>& ranks, bool quick, std::vector<AllReduceTime>& sums);

}  // namespace lockstep
