// Trains a run. Called by the command line. It reports its activity to `watch`, and asks it whether
// a signal requested the end; a watch that watches nothing is sufficient.
#pragma once

#include <optional>
#include <string>

#include "core/base/settings.h"
#include "trainer/config/load.h"
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

}  // namespace lockstep
