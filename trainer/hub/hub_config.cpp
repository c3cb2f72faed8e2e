#include "trainer/hub/hub_config.h"

#include <fmt/ranges.h>

#include <algorithm>
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

/// What config.json says that it is must be what the model is.
void check_kind(const Json& json, const HubFormat& format, const std::string& model, bool strict,
                std::vector<std::string>& problems) {
  const Json type = json.value("model_type", Json());
  if (type != format.model_type) {
    problems.push_back(fmt::format("is of model_type {}, but 'model.name: {}' reads \"{}\"",
                                   shown(type), model, format.model_type));
    return;
  }
  const Json architectures = json.value("architectures", Json());
  if (!strict || !architectures.is_array() || architectures.empty()) return;
  const bool known = std::ranges::any_of(architectures, [&](const Json& name) {
    return std::ranges::any_of(format.architectures,
                               [&](const std::string& mine) { return name == mine; });
  });
  if (!known)
    problems.push_back(fmt::format(
        "is of architecture {}, but 'model.name: {}' reads {} ('model.strict: false' takes what "
        "fits)",
        shown(architectures[0]), model, fmt::join(format.architectures, ", ")));
}

void check_fixed(const Json& json, const HubFormat& format, const std::string& model,
                 std::vector<std::string>& problems) {
  for (const auto& [key, value] : format.fixed)
    if (json.contains(key) && !json[key].is_null() && json[key] != Json::parse(value))
      problems.push_back(fmt::format("has {}: {}, but '{}' computes {} only", key, shown(json[key]),
                                     model, value));
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

}  // namespace

std::vector<std::string> hub_files(const std::string& folder) {
  const std::string config = (fs::path(folder) / kHubConfig).string();
  const std::string tokenizer = (fs::path(folder) / kHubTokenizer).string();
  std::error_code error;
  if (!fs::exists(config, error)) return {};
  std::vector<std::string> out{config};
  try {
    for (std::string& file : weight_files(folder)) out.push_back(std::move(file));
  } catch (const Error&) {
    return {};
  }
  if (fs::exists(tokenizer, error)) out.push_back(tokenizer);
  return out;
}

HubValues read_hub_config(const std::string& folder, const HubFormat& format,
                          const std::string& model, bool strict) {
  const std::string path = (fs::path(folder) / kHubConfig).string();
  const std::string text = read_json_text(path, kMaxConfigBytes, ErrorKind::kUsage);
  check_json(text, path, kMaxConfigDepth, ErrorKind::kUsage);
  const Json json = Json::parse(text);
  std::vector<std::string> problems;
  check_kind(json, format, model, strict, problems);
  if (problems.empty()) check_fixed(json, format, model, problems);
  if (!problems.empty())
    raise(ErrorKind::kUsage, "{}: {}", path, fmt::join(problems, fmt::format("\n{}: ", path)));
  HubValues out = format.defaults;
  flatten("", json, out);
  if (json.contains("id2label") && json["id2label"].is_object())
    out["num_labels"] = std::to_string(json["id2label"].size());
  if (format.from_hub != nullptr) format.from_hub(out);
  std::erase_if(out, [](const auto& value) {
    const char first = value.second.front();
    return value.second == "null" || first == '[' || first == '{';
  });
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
