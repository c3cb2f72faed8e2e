#include "checkpoint/restore.h"

#include <algorithm>
#include <filesystem>

#include "checkpoint/folder.h"
#include "checkpoint/verify.h"

namespace lockstep {

FoundCheckpoint find_newest(const std::string& folder) {
  FoundCheckpoint found;
  std::vector<CheckpointFile> files = list_checkpoints(folder);
  std::reverse(files.begin(), files.end());
  for (const CheckpointFile& file : files) {
    try {
      found.newest.emplace(file.path);
      return found;
    } catch (const Error& error) {
      found.skipped.push_back({file.path, without_path(error, file.path)});
    }
  }
  return found;
}

CheckpointReader open_checkpoint(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return CheckpointReader(path);
  const std::string folder = checkpoint_folder_of(path);
  FoundCheckpoint found = find_newest(folder);
  if (found.newest.has_value()) return std::move(*found.newest);
  std::string reasons;
  for (const SkippedCheckpoint& skipped : found.skipped) {
    reasons += fmt::format("\n  {}: {}", skipped.path, skipped.reason);
  }
  raise(ErrorKind::kCheckpoint, "{}: {}{}", folder,
        found.skipped.empty() ? "the folder holds no checkpoints" : "no checkpoint can be used:",
        reasons);
}

CheckpointState load(const std::string& path) {
  return open_checkpoint(path).load();
}

}  // namespace lockstep
