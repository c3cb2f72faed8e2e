// Selects the checkpoints to keep: the newest, the best, and one from which training is known to go
// on well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "core/base/log.h"

namespace lockstep {

struct Retention {
  int keep_last = 0;      ///< number of newest checkpoints to keep; 0 keeps all
  bool keep_best = true;  ///< also keep the checkpoint of the best step
  /// The step from which a run was resumed; kept until a later one is good; -1: none.
  std::int64_t begun_at = -1;
};

/// Steps that the trainer marks, from its newest checkpoint.
struct MarkedSteps {
  std::int64_t best = -1;
  std::int64_t good = -1;  ///< TrainerState::good_step: always kept
};
MarkedSteps marked_steps(const TrainerState& trainer);

/// Removes checkpoints that `retention` does not keep and returns their paths. `verified` is the
/// path of a checkpoint of the folder that was just verified: it is kept, whatever its number.
/// Files that are not sound checkpoints (by header or length) are not counted or removed. A failed
/// removal is a warning: too many checkpoints must not end a run.
std::vector<std::string> prune_checkpoints(const std::string& folder, const Retention& retention,
                                           const MarkedSteps& marked, const std::string& verified,
                                           Log& log);

/// Renames the checkpoints after `step` to suspects (folder.h), because their states led nowhere or
/// a run went back before them, and returns their new paths. Nothing is removed. A failure is a
/// warning.
std::vector<std::string> set_aside_after(const std::string& folder, std::int64_t step, Log& log);

}  // namespace lockstep
