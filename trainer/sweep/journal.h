// <sweep>/sweep.json: the points of a sweep and how far each has come. It is written whole after
// every change, so that a sweep that is killed at any moment goes on where it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/sweep/plan.h"

namespace lockstep {

enum class PointState : std::uint8_t {
  kWaiting,  ///< not begun, or stopped before its end
  kRunning,  ///< begun; of a sweep that does not run now, killed
  kDone,     ///< as many rungs as it was given steps for
  kFailed,   ///< with an exit code
  kLeft,     ///< others were better at a rung
};
/// "waiting", "running", "done", "failed", "left out"
std::string_view name_of(PointState state);

struct JournalPoint {
  std::string name = {};
  std::vector<std::string> overrides = {};
  std::vector<std::string> shown = {};
  PointState state = PointState::kWaiting;
  int rungs = 0;  ///< that it has finished
  int code = 0;   ///< of a failed one
  std::string error = {};
  std::optional<std::int64_t> step = {};
  std::optional<double> last = {};  ///< of the metric
  std::optional<double> best = {};
  std::int64_t best_step = 0;
  double wall_seconds = 0;
};

struct SweepJournal {
  /// What must be the same for a sweep to go on: the request's fields but its name, and the text
  /// of the config.
  std::string request = {};
  std::string metric = {};
  bool larger_is_better = false;
  std::vector<std::string> keys = {};
  std::vector<Rung> rungs = {};
  std::vector<JournalPoint> points = {};
};

/// That of a sweep which begins.
SweepJournal new_journal(const SweepRequest& request, const SweepPlan& plan);

/// The journal in a sweep's folder; nothing if there is no file. Error kUsage, naming the file and
/// the place, for one that write_journal() did not write.
std::optional<SweepJournal> read_journal(const std::string& folder);
void write_journal(const std::string& folder, const SweepJournal& journal);

}  // namespace lockstep
