#include "checkpoint/retention.h"

#include <algorithm>
#include <filesystem>

#include "checkpoint/folder.h"
#include "checkpoint/verify.h"
#include "core/base/posix_file.h"

namespace lockstep {

MarkedSteps marked_steps(const TrainerState& trainer) {
  return {.best = trainer.early_stopping.best_step, .good = trainer.good_step};
}

std::vector<std::string> prune_checkpoints(const std::string& folder, const Retention& retention,
                                           const MarkedSteps& marked, const std::string& verified,
                                           Log& log) {
  std::vector<std::string> removed;
  if (retention.keep_last <= 0) return removed;
  std::vector<CheckpointFile> files = list_checkpoints(folder);
  std::erase_if(files, [](const CheckpointFile& f) { return !verify_header(f.path).ok(); });
  const auto kept = static_cast<std::size_t>(retention.keep_last);
  files.resize(files.size() - std::min(files.size(), kept));  // the newest are not candidates
  for (const CheckpointFile& file : files) {
    const bool is_best = retention.keep_best && file.step == marked.best;
    const bool is_good =
        file.step == marked.good || (file.step == retention.begun_at && marked.good <= file.step);
    if (is_best || is_good || file.path == verified) continue;
    std::error_code error;
    if (std::filesystem::remove(file.path, error)) {
      removed.push_back(file.path);
    } else {
      log.warn("cannot remove the old checkpoint {}: {}", file.path, error.message());
    }
  }
  if (!removed.empty()) sync_folder(folder, ErrorKind::kCheckpoint);
  return removed;
}

std::vector<std::string> set_aside_after(const std::string& folder, std::int64_t step, Log& log) {
  std::vector<std::string> out;
  for (const CheckpointFile& file : list_checkpoints(folder)) {
    if (file.step <= step) continue;
    const std::string aside =
        (std::filesystem::path(folder) / suspect_file_name(file.step)).string();
    std::error_code error;
    std::filesystem::rename(file.path, aside, error);
    if (error)
      log.warn("cannot set {} aside: {}", file.path, error.message());
    else
      out.push_back(aside);
  }
  if (!out.empty()) sync_folder(folder, ErrorKind::kCheckpoint);
  return out;
}

}  // namespace lockstep
