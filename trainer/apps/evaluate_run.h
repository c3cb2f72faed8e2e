// Evaluates a checkpoint of a run. `watch` is as in trainer/apps/train.h.
#pragma once

#include <string>
#include <vector>

#include "core/base/settings.h"
#include "watch/watch.h"

namespace lockstep {

class Registry;

struct EvalCommandOptions {
  bool best = false;  ///< of a run: the checkpoint with the best metric, not the newest
  bool ema = false;   ///< of a run: the averaged weights, not the trained ones
  std::vector<std::string> overrides = {};  ///< of a folder: its data, as "data.type=jsonl"
};

/// Evaluates the newest valid checkpoint of a run (or a checkpoint file) on its validation data, or
/// a Hugging Face folder on the given ones, and prints loss and accuracy. Returns 0.
int evaluate_run(const std::string& run, const EvalCommandOptions& what, const Registry& registry,
                 const Settings& settings, Watch& watch);

}  // namespace lockstep
