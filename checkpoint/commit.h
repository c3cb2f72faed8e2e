// Saves a checkpoint: it appears whole and verified, or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/retention.h"
#include "checkpoint/state.h"
#include "core/base/activity.h"
#include "core/base/log.h"

namespace lockstep {

struct SavedCheckpoint {
  std::string path;
  std::uint64_t bytes;
  std::vector<std::string> pruned;  ///< paths of the removed older checkpoints
};

/// Writes `state` to <folder>/step-<state.trainer.step>.h5, making the folder if needed: temporary
/// name, every byte read back and compared with `state`, seal, fsync, rename, fsync of the folder,
/// and only then pruning. An older file of the same step is replaced. Leftovers of dead writers are
/// removed first.
///
/// Error kCheckpoint, with nothing changed, if it cannot be written. For a full disk, a quota or a
/// file size limit the message has the bytes needed, the bytes free and the remedy. `activity`
/// reports the progress in bytes read and written.
SavedCheckpoint save_checkpoint(const std::string& folder, const CheckpointState& state,
                                const Retention& retention, Log& log, Activity activity = {});

/// save_checkpoint() that keeps all older checkpoints.
SavedCheckpoint save_checkpoint(const std::string& folder, const CheckpointState& state, Log& log);

/// Writes `state` in the same way to <folder>/step-<step>.suspect.h5: a state that is complete but
/// has absurd values, and must not replace a good one. Prunes nothing.
SavedCheckpoint save_suspect_checkpoint(const std::string& folder, const CheckpointState& state,
                                        Log& log, Activity activity = {});

/// Removes the temporary files that killed writers left in `folder`, and logs them. Called at the
/// start of a run; saving does it too.
void remove_unfinished_checkpoints(const std::string& folder, Log& log);

}  // namespace lockstep
