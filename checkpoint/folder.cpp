#include "checkpoint/folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/base/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

using FileName = std::string (*)(std::int64_t step);

// Only names that `file_name` generates: two files never stand for the same step.
std::optional<std::int64_t> step_of(const std::string& name, FileName file_name) {
  if (!name.starts_with(kCheckpointPrefix)) return std::nullopt;
  const char* digits = name.data() + std::string_view(kCheckpointPrefix).size();
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits, name.data() + name.size(), step);
  if (error != std::errc{} || file_name(step) != name) return std::nullopt;
  return step;
}

std::vector<CheckpointFile> list_files(const std::string& folder, FileName file_name) {
  std::vector<CheckpointFile> out;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const auto step = step_of(entries->path().filename().string(), file_name);
    if (step.has_value()) out.push_back({*step, entries->path().string()});
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    raise(ErrorKind::kCheckpoint, "{}: {}", folder, error.message());
  }
  std::sort(out.begin(), out.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.step < b.step; });
  return out;
}

}  // namespace

std::string checkpoint_file_name(std::int64_t step) {
  return fmt::format("{}{:08}.h5", kCheckpointPrefix, step);
}

std::string suspect_file_name(std::int64_t step) {
  return fmt::format("{}{:08}.suspect.h5", kCheckpointPrefix, step);
}

std::vector<CheckpointFile> list_checkpoints(const std::string& folder) {
  return list_files(folder, checkpoint_file_name);
}

std::vector<CheckpointFile> list_suspects(const std::string& folder) {
  return list_files(folder, suspect_file_name);
}

std::string checkpoint_folder_of(const std::string& path) {
  const fs::path inside = fs::path(path) / "checkpoints";
  std::error_code error;
  return fs::is_directory(inside, error) ? inside.string() : path;
}

}  // namespace lockstep
