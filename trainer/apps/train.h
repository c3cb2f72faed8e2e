// Trains a run, or tests the rates with which one could be trained. Called by the command line. It
// reports its activity to `watch`, and asks it whether a signal requested the end; a watch that
// watches nothing is sufficient.
#pragma once

#include <optional>
#include <string>

#include "core/base/settings.h"
#include "trainer/apps/rate_test.h"
#include "trainer/config/load.h"
#include "trainer/optimizers/schedule.h"
#include "watch/watch.h"

namespace lockstep {

class Registry;

struct TrainOptions {
  /// --resume[=PATH]: "auto" or a checkpoint; overrides checkpoint.resume.
  std::optional<std::string> resume;
  /// Compile, print parameters, memory and batch arithmetic, and stop.
  bool dry_run = false;
};

/// Trains to the end of the run; every rank calls it. Returns 0, or 75 if asked to stop and saved.
/// Errors are thrown on every rank, each with the cause known to that rank.
int train(const LoadedConfig& config, const Registry& registry, const TrainOptions& options,
          const Settings& settings, Watch& watch);

/// A range test of learning rates with the config's model, data and optimizer, on all ranks: makes
/// at most `range.steps` steps from the run's initial values, and leaves no file. A step that is
/// not finite ends it. Returns the same on every rank; nothing if asked to stop.
std::optional<RateTest> test_rates(const LoadedConfig& config, const Registry& registry,
                                   const RateRange& range, const Settings& settings, Watch& watch);

}  // namespace lockstep
