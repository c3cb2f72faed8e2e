// A run, trained. Called by the command line. `watch` is told what goes on, and asked whether a
// signal wants the end; one that watches nothing will do.
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
/// Errors are thrown on every rank, each with the cause it knows.
int train(const LoadedConfig& config, const Registry& registry, const TrainOptions& options,
          const Settings& settings, Watch& watch);

}  // namespace lockstep
