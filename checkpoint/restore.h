// Restoring: the newest checkpoint that can be trusted, and what was passed over to find it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/file_format.h"
#include "checkpoint/state.h"

namespace lockstep {

struct SkippedCheckpoint {
  std::string path;
  std::string reason;
};

struct FoundCheckpoint {
  std::optional<CheckpointReader> newest;  ///< verified and open; nothing if there is none
  std::vector<SkippedCheckpoint> skipped;  ///< newer ones that cannot be used, newest first
};

/// The newest usable checkpoint of a folder. A folder that does not exist or
/// has no checkpoints gives no `newest` and nothing skipped. Reads only; bad files stay.
FoundCheckpoint find_newest(const std::string& folder);

/// "FOLDER: no checkpoint can be used<hint>:" and each candidate with what is wrong with it, a line
/// each.
std::string describe_skipped(const std::string& folder,
                             const std::vector<SkippedCheckpoint>& skipped,
                             const std::string& hint = "");

/// Opens what the user names: a checkpoint file, a folder of checkpoints, or a run. Of folders the
/// newest usable checkpoint. Error kCheckpoint that says what was wrong with each candidate.
CheckpointReader open_checkpoint(const std::string& path);

/// The checkpoint with the best metric of a run or folder, as its newest usable one knows it. Error
/// kUsage if `path` is a file, nothing was evaluated, or the best was not kept.
CheckpointReader open_best_checkpoint(const std::string& path);

/// The whole state of open_checkpoint(path).
CheckpointState load(const std::string& path);

}  // namespace lockstep
