#include "checkpoint/safetensors_folder.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "core/base/json_place.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxProblems = 30;  ///< in the list; the rest is counted

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

/// Maps tensors to shards. Error kCheckpoint.
std::map<std::string, std::string> read_weight_map(const std::string& index) {
  const JsonPlace json = JsonPlace::read(index, ErrorKind::kCheckpoint);
  if (!json.is_object()) json.refuse(fmt::format("must be an object, not {}", json.describe()));
  const auto weight_map = json.find("weight_map");
  if (!weight_map) json.refuse("has no 'weight_map' that says where tensors are");
  std::map<std::string, std::string> out;
  weight_map->for_each_member([&](const std::string& name, const JsonPlace& shard) {
    const std::string file = shard.string();
    const bool is_name = !file.empty() && file != "." && file != ".." &&
                         file.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
    if (!is_name) shard.refuse(fmt::format("{} is not a file beside the index", quote_json(file)));
    out[name] = file;
  });
  return out;
}

std::vector<std::string> shards_of(const std::map<std::string, std::string>& weight_map) {
  std::set<std::string> out;
  for (const auto& [name, shard] : weight_map) out.insert(shard);
  return {out.begin(), out.end()};
}

[[noreturn]] void raise_problems(const std::string& path, std::vector<std::string> problems) {
  if (problems.size() > kMaxProblems) {
    const std::size_t more = problems.size() - kMaxProblems;
    problems.resize(kMaxProblems);
    problems.push_back(fmt::format("and {} more", more));
  }
  raise(ErrorKind::kCheckpoint, "{}: the shards are not those of the index:\n  {}", path,
        fmt::join(problems, "\n  "));
}

}  // namespace

std::vector<std::string> weight_files(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    raise(ErrorKind::kCheckpoint, "{}: {}", folder,
          is_there(folder) ? "not a folder" : "no such folder");
  if (const std::string one = in_folder(folder, kWeightsFile); is_there(one)) return {one};
  const std::string index = in_folder(folder, kWeightsIndex);
  if (is_there(index)) {
    std::vector<std::string> out{index};
    for (const std::string& shard : shards_of(read_weight_map(index)))
      out.push_back(in_folder(folder, shard));
    return out;
  }
  const char* pickled = "pytorch_model.bin";
  raise(ErrorKind::kCheckpoint, "{}: the folder has neither {} nor {}{}", folder, kWeightsFile,
        kWeightsIndex,
        is_there(in_folder(folder, pickled))
            ? "; pytorch_model.bin holds Python objects: save it again with "
              "model.save_pretrained(folder, safe_serialization=True)"
            : "");
}

SafetensorsFolder::SafetensorsFolder(const std::string& folder) : path_(folder) {
  std::vector<std::string> paths = weight_files(folder);
  std::map<std::string, std::string> weight_map;
  const bool has_index = paths.front() == in_folder(folder, kWeightsIndex);
  if (has_index) {
    weight_map = read_weight_map(paths.front());
    paths.erase(paths.begin());
    std::vector<std::string> missing;
    for (const std::string& path : paths)
      if (!is_there(path)) missing.push_back(fmt::format("{}: no such file", path));
    if (!missing.empty()) raise_problems(in_folder(folder, kWeightsIndex), std::move(missing));
  }
  for (const std::string& path : paths) files_.emplace_back(path);
  if (has_index) check_index(weight_map);
  for (const SafetensorsFile& file : files_)
    for (const SafetensorsEntry& entry : file.tensors()) tensors_[entry.name] = {&file, &entry};
}

void SafetensorsFolder::check_index(const std::map<std::string, std::string>& weight_map) const {
  std::vector<std::string> problems;
  std::map<std::string, std::string> found;
  for (const SafetensorsFile& file : files_) {
    const std::string shard = fs::path(file.path()).filename().string();
    for (const SafetensorsEntry& entry : file.tensors()) {
      const auto promised = weight_map.find(entry.name);
      if (const auto [at, is_new] = found.emplace(entry.name, shard); !is_new) {
        problems.push_back(
            fmt::format("{} is in {} and in {}", quote_name(entry.name), at->second, shard));
      } else if (promised == weight_map.end()) {
        problems.push_back(
            fmt::format("{} is in {}, but not in the index", quote_name(entry.name), shard));
      } else if (promised->second != shard) {
        problems.push_back(fmt::format("{} is in {}, but the index says {}", quote_name(entry.name),
                                       shard, promised->second));
      }
    }
  }
  for (const auto& [name, shard] : weight_map)
    if (!found.contains(name))
      problems.push_back(
          fmt::format("{} is not in {}, where the index says it is", quote_name(name), shard));
  if (!problems.empty()) raise_problems(in_folder(path_, kWeightsIndex), std::move(problems));
}

}  // namespace lockstep
