// What a run's folder says of it at a glance, for tables over many runs. Reads no checkpoint; what
// is damaged becomes a state, not an error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/runs/flat_config.h"

namespace lockstep {

enum class RunState : std::uint8_t {
  kTraining,    ///< a process holds its lock
  kEnded,       ///< all steps, or those that the program wanted
  kEndedEarly,  ///< by early stopping
  kPreempted,   ///< asked to stop
  kFailed,      ///< by an error
  kUnfinished,  ///< its last job was killed, or its end is not known
  kDamaged,     ///< a file cannot be read
};
/// "training", "ended", "ended early", "preempted", "failed", "unfinished", "damaged"
std::string_view name_of(RunState state);

/// A measurement that is asked for, by its name in metrics.jsonl.
struct WatchedMetric {
  std::string name;  ///< "eval/loss"
  bool larger_is_better = false;
};

struct MetricSummary {
  std::optional<double> last = {};  ///< NaN: it was not finite; nothing: it was never measured
  std::int64_t last_step = 0;
  std::optional<double> best = {};  ///< of the finite ones
  std::int64_t best_step = 0;
};

struct RunSummary {
  std::string folder = {};  ///< its path
  std::string name = {};    ///< the path's last part
  std::string model = {};   ///< "program": of a program on the library
  RunState state = RunState::kUnfinished;
  std::string why = {};                     ///< of a failed or damaged one, in few words
  std::optional<std::int64_t> step = {};    ///< updates made, as far as its files say
  std::vector<MetricSummary> metrics = {};  ///< in the order in which they were asked for
  double wall_seconds = 0;                  ///< of all its jobs; of a killed one to its last record
  std::string ended = {};                   ///< UTC, as in history.json; "": it has no end
  FlatConfig config = {};
};

/// `folder` is one that is_like_run().
RunSummary summarize_run(const std::string& folder, std::span<const WatchedMetric> metrics);

/// Whether a folder holds anything that only a run has.
bool is_like_run(const std::string& folder);

struct FoundRuns {
  std::vector<RunSummary> runs = {};     ///< by name
  std::vector<std::string> others = {};  ///< names of folders that are none
};

/// The runs in a folder, on all cores. Folders whose names begin with a dot are left out. Error
/// kUsage if the folder cannot be listed, or is a run itself.
FoundRuns find_runs(const std::string& folder, std::span<const WatchedMetric> metrics);

}  // namespace lockstep
