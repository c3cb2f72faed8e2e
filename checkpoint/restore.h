// Restores the newest checkpoint that can be trusted, and lists the newer ones that it skipped.
#pragma once

#include <functional>
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

/// The newest usable checkpoint of a folder. A folder that does not exist or has no checkpoints
/// gives no `newest` and nothing skipped. Only reads; bad files stay.
FoundCheckpoint find_newest(const std::string& folder);

/// "FOLDER: no checkpoint can be used<hint>:" and each candidate with its problem, one per line.
std::string describe_skipped(const std::string& folder,
                             const std::vector<SkippedCheckpoint>& skipped,
                             const std::string& hint = "");

/// Opens a path that a user gives: a checkpoint file, a folder of checkpoints, or a run. For
/// folders, the newest usable checkpoint; `on_skipped`, if not null, is told of newer ones. Error
/// kCheckpoint with the problem of each candidate.
using OnSkipped = std::function<void(const SkippedCheckpoint&)>;
CheckpointReader open_checkpoint(const std::string& path, const OnSkipped& on_skipped = nullptr);

/// The checkpoint with the best metric of a run or folder, as recorded in its newest usable one.
/// Error kUsage if `path` is a file, nothing was evaluated, or the best was not kept.
CheckpointReader open_best_checkpoint(const std::string& path,
                                      const OnSkipped& on_skipped = nullptr);

/// The whole state of open_checkpoint(path).
CheckpointState load(const std::string& path);

}  // namespace lockstep
