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

std::string describe_skipped(const std::string& folder,
                             const std::vector<SkippedCheckpoint>& skipped,
                             const std::string& hint) {
  std::string out = fmt::format("{}: no checkpoint can be used{}:", folder, hint);
  for (const SkippedCheckpoint& one : skipped) {
    out += fmt::format("\n  {}: {}", one.path, one.reason);
  }
  return out;
}

CheckpointReader open_checkpoint(const std::string& path, const OnSkipped& on_skipped) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return CheckpointReader(path);
  const std::string folder = checkpoint_folder_of(path);
  FoundCheckpoint found = find_newest(folder);
  if (found.newest.has_value()) {
    if (on_skipped) std::ranges::for_each(found.skipped, on_skipped);
    return std::move(*found.newest);
  }
  if (!found.skipped.empty())
    raise(ErrorKind::kCheckpoint, "{}", describe_skipped(folder, found.skipped));
  raise(ErrorKind::kCheckpoint, "{}: the folder holds no checkpoints", folder);
}

CheckpointReader open_best_checkpoint(const std::string& path, const OnSkipped& on_skipped) {
  std::error_code error;
  const CheckpointReader newest = open_checkpoint(path, on_skipped);
  LS_USER_CHECK(std::filesystem::is_directory(path, error),
                "--best chooses among the checkpoints of a run, but {} is a single one", path);
  const TrainerState& trainer = newest.trainer();
  const std::int64_t step = trainer.early_stopping.best_step;
  LS_USER_CHECK(step >= 0, "{}: there is no best checkpoint: the run was not evaluated", path);
  const auto file = std::filesystem::path(checkpoint_folder_of(path)) / checkpoint_file_name(step);
  LS_USER_CHECK(
      std::filesystem::exists(file, error),
      "{}: the best is step {}, with {} {:.6g}, but it has no checkpoint (any more): train "
      "with checkpoint.keep_best=true",
      path, step, trainer.best_metric_name, trainer.best_metric);
  return CheckpointReader(file.string());
}

CheckpointState load(const std::string& path) {
  return open_checkpoint(path).load();
}

}  // namespace lockstep
