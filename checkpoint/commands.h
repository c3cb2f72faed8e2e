// The logic of `lockstep ckpt ls|inspect|verify|hash|prune`. `path` is a checkpoint file, a folder
// of checkpoints or a run (a folder with checkpoints/ inside).
#pragma once

#include <string>

namespace lockstep {

struct CommandResult {
  std::string text;       ///< for standard output, with its last newline
  int status;             ///< for exit(): 0, or that of ErrorKind::kCheckpoint
  std::string note = "";  ///< for standard error
};

/// A folder's checkpoints, one a line: step, bytes, "ok" or what is wrong, and whether it is the
/// best (metric and value), known to be good or in doubt; then those that are suspect (folder.h),
/// marked as such. Status 0 whatever their health. Error kCheckpoint if `path`
/// is no folder.
CommandResult checkpoint_ls(const std::string& path);

/// Trainer attributes, tensors with dtype and shape, and the config of one checkpoint; of a
/// folder's newest usable one. Error kCheckpoint if there is none.
CommandResult checkpoint_inspect(const std::string& path);

/// "PATH: ok" or "PATH: what is wrong", for a file, or for each checkpoint of a folder: every bit
/// is checked, and that the file is of the structure that can be read. Status 4 if one is bad or
/// there is none.
CommandResult checkpoint_verify(const std::string& path);

/// The state_hash() of one checkpoint, as 64 hexadecimal digits; of a folder's newest usable one.
/// The note names the instruction set and processors that it is the hash of.
CommandResult checkpoint_hash(const std::string& path);

/// Removes all but the newest `keep_last` checkpoints of a folder, the best one and the newest that
/// is known to be good, and lists what it removed. Error kUsage if keep_last < 1; kCheckpoint if no
/// checkpoint can be used.
CommandResult checkpoint_prune(const std::string& path, int keep_last);

}  // namespace lockstep
