#include "checkpoint/retention.h"

#include <algorithm>
#include <filesystem>

#include "checkpoint/folder.h"
#include "checkpoint/verify.h"
#include "core/base/posix_file.h"

namespace lockstep {

std::vector<std::string> prune_checkpoints(const std::string& folder, const Retention& retention,
                                           std::int64_t best_step, const std::string& verified,
                                           Log& log) {
  std::vector<std::string> removed;
  if (retention.keep_last <= 0) return removed;
  std::vector<CheckpointFile> files = list_checkpoints(folder);
  std::erase_if(files, [](const CheckpointFile& f) { return !verify_header(f.path).ok(); });
  const auto kept = static_cast<std::size_t>(retention.keep_last);
  files.resize(files.size() - std::min(files.size(), kept));  // the newest leave the list
  for (const CheckpointFile& file : files) {
    const bool is_best = retention.keep_best && file.step == best_step;
    if (is_best || file.path == verified) continue;
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

}  // namespace lockstep
