// What a run left: the one way to open its checkpoints, and to read the files in its folder. All
// commands on a run use it. Only reads; the run may still train.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/restore.h"
#include "core/base/activity.h"
#include "core/explain/tally.h"
#include "core/observe/cuts.h"
#include "trainer/run/run_history.h"
#include "trainer/run/shared_checkpoint.h"
#include "trainer/settings/config.h"
#include "trainer/statistics/program_record.h"
#include "trainer/statistics/rank_profile.h"
#include "trainer/telemetry/compilations_file.h"
#include "trainer/telemetry/metrics_file.h"
#include "trainer/telemetry/record.h"

namespace lockstep {

class Registry;

/// Which checkpoint of a run.
enum class SavedState : std::uint8_t {
  kNewest,  ///< the newest that verifies
  kBest,    ///< that with the best metric
};

class SavedRun {
 public:
  /// `path`: the folder of a run, the folder of its checkpoints, or a checkpoint. Reads nothing.
  explicit SavedRun(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool is_folder() const;

  /// The config.yaml in its folder; the defaults if this host cannot read it or it has an error. It
  /// is for limits that must hold before a checkpoint is read: then the checkpoint's config counts.
  Config config_file(const Registry& registry) const;

  /// Error kCheckpoint with the problem of each candidate; kUsage for a best one that was not kept.
  /// A newer one that cannot be used is named on standard error.
  CheckpointReader open_checkpoint(SavedState which = SavedState::kNewest) const;
  /// For a run that goes on: a run without checkpoints has no newest one, and that is no error.
  FoundCheckpoint find_newest() const;
  /// As open_checkpoint(), collective: rank 0 reads it, and all ranks get it.
  SharedCheckpoint share_checkpoint(Communicator& communicator, Activity activity,
                                    SavedState which = SavedState::kNewest) const;

  /// Error kUsage if path() is not the folder of a run.
  void require_folder() const;

  // The files in a run's folder. Error kUsage if path() is not the folder of a run, or for a
  // damaged file.
  std::vector<TelemetryRecord> metrics() const;  ///< empty: no step was logged
  MetricsRead good_metrics() const;              ///< those in front of a damaged line
  std::vector<RankProfile> profiles() const;     ///< by rank; empty: the run did not measure them
  /// Nothing: the run did not measure it, or has not ended.
  std::optional<ProgramRecord> program() const;
  CauseTally compilations(int rank) const;  ///< empty: nothing was compiled
  std::vector<CompilationEvent> compilation_events(int rank) const;  ///< the same one by one
  std::vector<Cuts::Row> cuts() const;   ///< empty: the run has not ended, or has none
  std::vector<RunLife> history() const;  ///< in order; empty: an early lockstep trained it
  std::string trace_file() const;        ///< its path; error kUsage if there is none

 private:
  std::string path_;
};

}  // namespace lockstep
