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

/// A folder's checkpoints, one per line: step, bytes, "ok" or the problem, and whether it is the
/// best (metric and value), known to be good or in doubt; then the suspect ones (folder.h), marked
/// as such. Status 0 whatever their state. Error kCheckpoint if `path` is not a folder.
CommandResult checkpoint_ls(const std::string& path);

/// Trainer attributes, tensors with dtype and shape, and the config of one checkpoint; for a
/// folder, of its newest usable one. Error kCheckpoint if there is none.
CommandResult checkpoint_inspect(const std::string& path);

/// "PATH: ok" or "PATH: problem", for a file or for each checkpoint of a folder: checks every bit,
/// and that the file has a structure that can be read. Status 4 if one is bad or there is none.
CommandResult checkpoint_verify(const std::string& path);

/// The state_hash() of one checkpoint, as 64 hexadecimal digits; for a folder, of its newest usable
/// one. The note names the instruction set and processors that the state was computed with.
CommandResult checkpoint_hash(const std::string& path);

/// Removes all checkpoints of a folder except the newest `keep_last`, the best one and the newest
/// one known to be good, and lists the removed ones. Error kUsage if keep_last < 1; kCheckpoint if
/// no checkpoint can be used.
CommandResult checkpoint_prune(const std::string& path, int keep_last);

}  // namespace lockstep
