#include "trainer/run/run_folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "checkpoint/folder.h"

namespace lockstep {

namespace fs = std::filesystem;

RunFolder run_folder(const std::string& at) {
  fs::path path(at);
  std::error_code error;
  if (fs::is_symlink(path, error)) {
    const fs::path target = fs::canonical(path, error);
    if (!error) path = target;
  }
  return {path.string(), (path / "checkpoints").string()};
}

std::string place_aside(const RunFolder& folder, int number) {
  return fmt::format("{}.{}", folder.path, number);
}

std::string find_moved_run(const RunFolder& folder) {
  std::string out;
  std::error_code error;
  for (int number = 1; fs::exists(place_aside(folder, number), error); ++number)
    if (const RunFolder moved = run_folder(place_aside(folder, number));
        !list_checkpoints(moved.checkpoints).empty())
      out = moved.path;
  return out;
}

}  // namespace lockstep
