// Evaluates a checkpoint of a run. `watch` is as in trainer/apps/train.h.
#pragma once

#include <string>
#include <vector>

#include "core/base/settings.h"
#include "watch/watch.h"

namespace lockstep {

class Registry;

/// Evaluates the newest valid checkpoint of a run (or a checkpoint file), or with `best` the one
/// with the best metric, on its validation data and prints loss and accuracy. Returns 0. `run` may
/// be a Hugging Face folder; its data are those of `overrides` ("data.type=jsonl"), which a run
/// does not take.
int evaluate_run(const std::string& run, bool best, const std::vector<std::string>& overrides,
                 const Registry& registry, const Settings& settings, Watch& watch);

}  // namespace lockstep
