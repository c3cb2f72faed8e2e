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

constexpr std::string_view kSuffix = ".h5";

std::optional<std::int64_t> step_of(const std::string& name) {
  std::string_view digits = name;
  if (!digits.starts_with(kCheckpointPrefix) || !digits.ends_with(kSuffix)) return std::nullopt;
  digits.remove_prefix(std::string_view(kCheckpointPrefix).size());
  digits.remove_suffix(kSuffix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  // Only names that we would have given: two files never stand for the same step.
  if (error != std::errc{} || checkpoint_file_name(step) != name) return std::nullopt;
  return step;
}

}  // namespace

std::string checkpoint_file_name(std::int64_t step) {
  return fmt::format("{}{:08}{}", kCheckpointPrefix, step, kSuffix);
}

std::vector<CheckpointFile> list_checkpoints(const std::string& folder) {
  std::vector<CheckpointFile> out;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::optional<std::int64_t> step = step_of(entries->path().filename().string());
    if (step.has_value()) out.push_back({*step, entries->path().string()});
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    raise(ErrorKind::kCheckpoint, "{}: {}", folder, error.message());
  }
  std::sort(out.begin(), out.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.step < b.step; });
  return out;
}

std::string checkpoint_folder_of(const std::string& path) {
  const fs::path inside = fs::path(path) / "checkpoints";
  std::error_code error;
  return fs::is_directory(inside, error) ? inside.string() : path;
}

}  // namespace lockstep
