// Which checkpoints stay: the newest, the best, and one from which training is known to go on well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "core/base/log.h"

namespace lockstep {

struct Retention {
  int keep_last = 0;      ///< how many of the newest stay; 0 keeps all
  bool keep_best = true;  ///< the checkpoint of the best step stays too
  /// The step that a resumed run went on from, which stays until a later one is good; -1: none.
  std::int64_t begun_at = -1;
};

/// Steps that a trainer tells apart: those of its newest checkpoint.
struct MarkedSteps {
  std::int64_t best = -1;
  std::int64_t good = -1;  ///< TrainerState::good_step: it stays, whatever is newer
};
MarkedSteps marked_steps(const TrainerState& trainer);

/// Removes checkpoints that `retention` does not keep and returns their paths. `verified` is the
/// path of a checkpoint of the folder that has just verified: it stays, whatever its number. Files
/// that are no sound checkpoints (header or length) are neither counted nor removed. Failing to
/// remove is a warning: too many checkpoints are no reason to end a run.
std::vector<std::string> prune_checkpoints(const std::string& folder, const Retention& retention,
                                           const MarkedSteps& marked, const std::string& verified,
                                           Log& log);

/// Makes suspects (folder.h) of the checkpoints after `step`, whose states led nowhere or were gone
/// back behind, and returns their new paths. Nothing is removed. Failing is a warning.
std::vector<std::string> set_aside_after(const std::string& folder, std::int64_t step, Log& log);

}  // namespace lockstep
