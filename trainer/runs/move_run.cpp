#include "trainer/runs/move_run.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <stdio.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "data/files/read_text.h"
#include "trainer/config/yaml_tree.h"
#include "trainer/run/run_lock.h"
#include "trainer/run/saved_texts.h"
#include "trainer/runs/flat_config.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Without slashes at the end, through which a link would be followed.
fs::path plain_path(const std::string& path) {
  const fs::path out = fs::path(path + "/").lexically_normal().parent_path();
  return out.empty() ? fs::path(".") : out;
}

bool exists_itself(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

/// What a run has and the folder does not: in words, "" if nothing is missing.
std::string missing_of_run(const fs::path& folder) {
  const fs::path config = folder / "config.yaml";
  if (!exists_itself(config)) return "it has no config.yaml";
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(config, error)))
    return "its config.yaml is not a file of its own";
  const std::string text = read_text(config.string(), kMaxYamlBytes);
  if (!text.starts_with(kOfAProgram) && !flat_config(text).contains("run.name"))
    return "its config.yaml is not the resolved config of a run";
  for (const char* name : {"checkpoints", "metrics.jsonl", "history.json", "logs"})
    if (exists_itself(folder / name)) return "";
  return "it has neither checkpoints nor metrics.jsonl, history.json or logs";
}

bool is_rest(const fs::path& folder) {
  return folder.filename().string().ends_with(kRemoving);
}

/// Renames without replacing anything. False if there is something of the new name.
bool rename_free(const fs::path& from, const fs::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST || errno == ENOTEMPTY) return false;
  LS_USER_CHECK(errno != EXDEV,
                "{} and {} are on different file systems: copy the run with cp -a, and then remove "
                "it",
                from.string(), to.string());
  raise_errno(ErrorKind::kUsage, fmt::format("cannot rename {} to {}", from.string(), to.string()));
}

fs::path place_to_remove(const fs::path& from) {
  for (int number = 1;; ++number) {
    const std::string name =
        number == 1 ? from.string() : fmt::format("{}.{}", from.string(), number);
    if (fs::path to = name + kRemoving; rename_free(from, to)) return to;
  }
}

/// Where `to` says that the run `from` shall be.
fs::path destination(const fs::path& from, const std::string& to) {
  std::error_code error;
  const bool is_name = to.find('/') == std::string::npos;
  LS_USER_CHECK(!to.empty() && to != "." && to != "..",
                "'{}' is no name for a run; a folder to move it into is written with a '/': {}/",
                to, to.empty() ? "DIR" : to);
  if (is_name) return from.parent_path() / to;
  fs::path path = plain_path(to);
  if (fs::is_directory(path, error)) path /= from.filename();
  const fs::path parent = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  LS_USER_CHECK(fs::is_directory(parent, error), "{}: there is no such folder to move the run into",
                parent.string());
  return path;
}

/// A text as YAML on one line.
std::string yaml_word(const std::string& text) {
  return nlohmann::json(text).dump();
}

/// The lines of a resolved config with another `run.dir` and `run.name`; "" if it does not have
/// both as lockstep writes them.
std::string with_place(const std::string& text, const std::string& dir, const std::string& name) {
  std::string out, section;
  int changed = 0;
  for (std::string_view left = text; !left.empty();) {
    const std::size_t end = left.find('\n');
    const std::string line(left.substr(0, end));
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    if (!line.starts_with(' ')) section = line;
    const bool is_run = section == "run:";
    if (is_run && line.starts_with("  dir:")) {
      out += "  dir: " + yaml_word(dir) + "\n";
      ++changed;
    } else if (is_run && line.starts_with("  name:")) {
      out += "  name: " + yaml_word(name) + "\n";
      ++changed;
    } else {
      out += line + "\n";
    }
  }
  return changed == 2 ? out : "";
}

/// Sets the place in the config of the run at `to`; returns a note if that cannot be.
std::string set_place(const fs::path& to) {
  const std::string file = (to / "config.yaml").string();
  const std::string text = read_text(file, kMaxYamlBytes);
  if (text.starts_with(kOfAProgram)) return "";
  const FlatConfig before = flat_config(text);
  const fs::path parent = to.parent_path().empty() ? fs::path(".") : to.parent_path();
  std::error_code error;
  const auto dir = before.find("run.dir");
  // Another spelling of the same folder stays: it may be relative to where the user trains.
  const bool stays = dir != before.end() && fs::equivalent(dir->second, parent, error) && !error;
  const std::string changed =
      with_place(text, stays ? dir->second : parent.string(), to.filename().string());
  if (changed.empty())
    return fmt::format("{} is not as lockstep writes it: set its run.dir and run.name", file);
  write_file(file, changed, ErrorKind::kUsage);
  return "";
}

}  // namespace

void require_movable(const std::string& path) {
  const fs::path folder = plain_path(path);
  std::error_code error;
  LS_USER_CHECK(exists_itself(folder), "{}: there is no such run", path);
  const fs::file_type type = fs::symlink_status(folder, error).type();
  LS_USER_CHECK(type != fs::file_type::symlink,
                "{} is a link: name the folder that it points to, {}", path,
                fs::read_symlink(folder, error).string());
  LS_USER_CHECK(type == fs::file_type::directory, "{} is a file: RUN is the folder of a run", path);
  if (is_rest(folder)) return;
  const std::string missing = missing_of_run(folder);
  LS_USER_CHECK(missing.empty(), "{} is not a run's folder: {}", path, missing);
  LS_USER_CHECK(!is_locked(folder.string()), "{} is in training by {}: stop it first", path,
                describe_lock_holder(folder.string()));
}

std::uint64_t bytes_in(const std::string& folder) {
  std::error_code error;
  std::uint64_t out = 0;
  fs::recursive_directory_iterator files(folder, error), end;
  for (; !error && files != end; files.increment(error)) {
    std::error_code gone;
    if (files->symlink_status(gone).type() != fs::file_type::regular) continue;
    const std::uint64_t bytes = files->file_size(gone);
    if (!gone) out += bytes;
  }
  return out;
}

void remove_run(const std::string& path) {
  fs::path folder = plain_path(path);
  require_movable(path);
  std::error_code error;
  if (!is_rest(folder)) {
    const RunLock lock(folder.string(), SettingsOf::kConfig);
    folder = place_to_remove(folder);
  }
  fs::remove_all(folder, error);
  LS_USER_CHECK(!error, "{} cannot be removed whole: {}", folder.string(), error.message());
}

MovedRun move_run(const std::string& path, const std::string& to) {
  const fs::path from = plain_path(path);
  const fs::path place = destination(from, to);
  std::error_code error;
  if (!exists_itself(from) && fs::is_directory(place, error)) {
    // It was moved by a process that was killed before it had set the config.
    require_movable(place.string());
    const RunLock lock(place.string(), SettingsOf::kConfig);
    return {place.string(), set_place(place)};
  }
  require_movable(path);
  LS_USER_CHECK(!is_rest(from), "{} is the rest of a removal: only `lockstep rm` takes it", path);
  const RunLock lock(from.string(), SettingsOf::kConfig);
  LS_USER_CHECK(rename_free(from, place), "{} exists: choose another name", place.string());
  const RunLock new_lock(place.string(), SettingsOf::kConfig);
  return {place.string(), set_place(place)};
}

}  // namespace lockstep
