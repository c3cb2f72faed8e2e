// <run>/history.json: when jobs began to train the run, on what, and how each ended. Rank 0 writes
// it; a job that was killed leaves its entry without an end.
//   {"format": "lockstep history", "version": 1,
//    "lives": [{"began": "2026-11-23T05:40:12Z", "step": 0, "ranks": 2, "hosts": ["a"],
//               "threads": 1, "instruction_set": "AVX-512 with bf16", "processors": ["AMD EPYC"],
//               "lockstep": "0.9.0", "build": "5d0c...",
//               "ended": "2026-11-23T05:41:02Z", "how": "finished", "last_step": 200}, ...]}
// A job that failed has "how": "failed" and "error": "...".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"

namespace lockstep {

/// What one job did of a run.
struct RunLife {
  std::string began = {};  ///< UTC; set by RunHistory
  std::int64_t step = 0;   ///< updates that were made before
  int ranks = 1;
  std::vector<std::string> hosts = {};  ///< each once, by their lowest rank
  std::int64_t threads = 1;             ///< of a rank's device
  std::string instruction_set = {};
  std::vector<std::string> processors = {};
  std::string version = {};  ///< of lockstep
  std::string build = {};    ///< hash of the program and its libraries

  std::string ended = {};      ///< UTC; "": it still runs, or was killed
  std::string how = {};        ///< a name of RunEnd (train/run_stops.h), or kFailedJob
  std::int64_t last_step = 0;  ///< updates made when it ended
  std::string error = {};      ///< of a job that failed
};

/// Of a job that an error ended.
inline constexpr std::string_view kFailedJob = "failed";

/// Empty if there is no file. Error kUsage, naming the file and the place, for one that RunHistory
/// did not write.
std::vector<RunLife> read_run_history(const std::string& run_folder);

/// Writes the life of this job. It never ends a run: a disk that fails is a warning.
class RunHistory {
 public:
  /// Appends a life to those of the folder. `log` must outlive the calls of end().
  void begin(const std::string& run_folder, RunLife life, Log& log);
  /// Without begin() nothing happens. A later end replaces this one: a run may ask for more steps.
  void end(std::string_view how, std::int64_t last_step);
  /// The job ends with this error, at the step that end() said, if it was called.
  void fail(const std::string& error);

 private:
  void write() const;

  std::string folder_;  ///< "": no life has begun
  std::vector<RunLife> lives_;
  Log* log_ = nullptr;
};

}  // namespace lockstep
