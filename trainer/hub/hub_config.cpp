#include "trainer/hub/hub_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/safetensors_folder.h"
#include "checkpoint/strict_json.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{1} << 24U;
constexpr int kMaxConfigDepth = 8;

std::string shown(const Json& value) {
  constexpr std::size_t kLongest = 80;
  std::string text = value.dump();
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

bool is_one_of(const std::vector<std::string>& names, const Json& name) {
  return std::ranges::any_of(names, [&](const std::string& mine) { return name == mine; });
}

/// What config.json says that it is must be what the model is.
void check_kind(const Json& json, const HubFormat& format, const std::string& model, bool strict,
                std::vector<std::string>& problems) {
  const bool of_timm = format.model_type.empty();
  const Json type = json.value("model_type", Json());
  if (!of_timm && type != format.model_type) {
    problems.push_back(fmt::format("is of model_type {}, but 'model.name: {}' reads \"{}\"",
                                   shown(type), model, format.model_type));
    return;
  }
  if (of_timm) {
    const Json architecture = json.value("architecture", Json());
    if (!is_one_of(format.architectures, architecture))
      problems.push_back(fmt::format("is of architecture {}, but 'model.name: {}' reads {}",
                                     shown(architecture), model,
                                     fmt::join(format.architectures, ", ")));
    return;
  }
  const Json architectures = json.value("architectures", Json());
  if (!strict || !architectures.is_array() || architectures.empty()) return;
  const bool known = std::ranges::any_of(
      architectures, [&](const Json& name) { return is_one_of(format.architectures, name); });
  if (!known)
    problems.push_back(fmt::format(
        "is of architecture {}, but 'model.name: {}' reads {} ('model.strict: false' takes what "
        "fits)",
        shown(architectures[0]), model, fmt::join(format.architectures, ", ")));
}

void check_fixed(const HubValues& values, const HubFormat& format, const std::string& model,
                 std::vector<std::string>& problems) {
  for (const auto& [key, value] : format.fixed) {
    const auto found = values.find(key);
    if (found == values.end() || found->second == "null") continue;
    if (const Json theirs = Json::parse(found->second); theirs != Json::parse(value))
      problems.push_back(
          fmt::format("has {}: {}, but '{}' computes {} only", key, shown(theirs), model, value));
  }
}

void flatten(const std::string& prefix, const Json& object, HubValues& out) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object() && prefix.empty() && key != "id2label" && key != "label2id") {
      flatten(key + ".", value, out);
    } else {
      out[prefix + key] = value.dump();
    }
  }
}

/// A file's JSON, which is an object.
Json read_object(const std::string& path) {
  const std::string text = read_json_text(path, kMaxConfigBytes, ErrorKind::kUsage);
  check_json(text, path, kMaxConfigDepth, ErrorKind::kUsage);
  return Json::parse(text);
}

}  // namespace

std::vector<std::string> hub_files(const std::string& folder) {
  const std::string config = (fs::path(folder) / kHubConfig).string();
  std::error_code error;
  if (!fs::exists(config, error)) return {};
  std::vector<std::string> out{config};
  try {
    for (std::string& file : weight_files(folder)) out.push_back(std::move(file));
  } catch (const Error&) {
    return {};
  }
  for (const char* name : {kHubTokenizer, kHubPreprocessor})
    if (std::string file = (fs::path(folder) / name).string(); fs::exists(file, error))
      out.push_back(std::move(file));
  return out;
}

HubValues read_hub_config(const std::string& folder, const HubFormat& format,
                          const std::string& model, bool strict) {
  const std::string path = (fs::path(folder) / kHubConfig).string();
  const Json json = read_object(path);
  std::vector<std::string> problems;
  check_kind(json, format, model, strict, problems);
  HubValues own;
  flatten("", json, own);
  if (problems.empty()) check_fixed(own, format, model, problems);
  if (!problems.empty())
    raise(ErrorKind::kUsage, "{}: {}", path, fmt::join(problems, fmt::format("\n{}: ", path)));
  HubValues out = std::move(own);
  out.insert(format.defaults.begin(), format.defaults.end());
  if (json.contains("id2label") && json["id2label"].is_object())
    out["num_labels"] = std::to_string(json["id2label"].size());
  if (format.from_hub != nullptr) format.from_hub(out);
  std::erase_if(
      out, [](const auto& value) { return value.second == "null" || value.second.front() == '{'; });
  return out;
}

namespace {

/// What pixels from 0 to 1 are multiplied with before they are normalized: transformers rescales
/// those from 0 to 255.
double scale_of_pixels(const Json& json, const std::string& path) {
  constexpr double kLargest = 255;
  if (json.value("do_rescale", Json()) == false) return kLargest;
  const Json factor = json.value("rescale_factor", Json());
  if (factor.is_null()) return 1;
  if (!factor.is_number() || !(factor.get<double>() > 0))
    raise(ErrorKind::kUsage, "{}: rescale_factor: {} is no number above 0", path, shown(factor));
  const double scale = kLargest * factor.get<double>();
  constexpr double kRounded = 1e-6;
  return std::abs(scale - 1) < kRounded ? 1 : scale;
}

/// The numbers of a list divided by one.
std::string divided(const Json& list, double by) {
  Json out = Json::array();
  for (const Json& number : list)
    out.push_back(number.is_number() ? Json(number.get<double>() / by) : number);
  return out.dump();
}

}  // namespace

HubValues read_preprocessor(const std::string& folder) {
  const std::string path = (fs::path(folder) / kHubPreprocessor).string();
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const Json json = read_object(path);
  HubValues out;
  const bool normalizes = json.value("do_normalize", Json()) != false;
  const double scale = scale_of_pixels(json, path);
  const auto take = [&](const char* key, double none) {
    const Json given = normalizes ? json.value(key, Json()) : Json::array({none});
    if (given.is_null()) return;
    out[key] = scale != 1 && given.is_array() ? divided(given, scale) : given.dump();
  };
  take("image_mean", 0.0);
  take("image_std", 1.0);
  return out;
}

std::string hub_config_text(const HubValues& values) {
  Json out = Json::object();
  for (const auto& [key, text] : values) {
    const std::size_t dot = key.find('.');
    Json& at = dot == std::string::npos ? out[key] : out[key.substr(0, dot)][key.substr(dot + 1)];
    at = Json::parse(text);
  }
  return out.dump(2) + "\n";
}

}  // namespace lockstep
