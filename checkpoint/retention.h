// Which checkpoints stay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/log.h"

namespace lockstep {

struct Retention {
  int keep_last = 0;      ///< how many of the newest stay; 0 keeps all
  bool keep_best = true;  ///< the checkpoint of the best step stays too
};

/// Removes checkpoints that `retention` does not keep and returns their paths. `verified` is the
/// path of a checkpoint of the folder that has just verified: it stays, whatever its number. Files
/// that are no sound checkpoints (header or length) are neither counted nor removed. Failing to
/// remove is a warning: too many checkpoints are no reason to end a run.
std::vector<std::string> prune_checkpoints(const std::string& folder, const Retention& retention,
                                           std::int64_t best_step, const std::string& verified,
                                           Log& log);

}  // namespace lockstep
