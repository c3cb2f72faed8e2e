#include "trainer/hub/hub_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/safetensors_folder.h"
#include "core/base/error.h"
#include "core/base/json_place.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string shortened(const std::string& json) {
  constexpr std::size_t kLongest = 80;
  return json.size() > kLongest ? json.substr(0, kLongest) + "..." : json;
}

/// The problems of a config.json, each with its location.
struct Problems {
  std::string path;
  std::vector<std::string> all = {};

  template <class... Args>
  void add(const HubValue& value, fmt::format_string<Args...> format, Args&&... args) {
    all.push_back(fmt::format("{}: {}", value.place.empty() ? path : value.place,
                              fmt::format(format, std::forward<Args>(args)...)));
  }
};

HubValue value_or_null(const HubValues& values, const char* key) {
  const auto found = values.find(key);
  return found == values.end() ? HubValue("null") : found->second;
}

bool is_one_of(const std::vector<std::string>& names, const std::string& json) {
  return std::ranges::any_of(names,
                             [&](const std::string& mine) { return json == Json(mine).dump(); });
}

/// The types that config.json declares must be those of the model.
void check_kind(const HubValues& values, const HubFormat& format, const std::string& model,
                bool strict, Problems& problems) {
  const bool of_timm = format.model_type.empty();
  const HubValue type = value_or_null(values, "model_type");
  if (!of_timm && type.json != Json(format.model_type).dump()) {
    problems.add(type, "is of model_type {}, but 'model.name: {}' reads \"{}\"",
                 shortened(type.json), model, format.model_type);
    return;
  }
  if (of_timm) {
    const HubValue architecture = value_or_null(values, "architecture");
    if (!is_one_of(format.architectures, architecture.json))
      problems.add(architecture, "is of architecture {}, but 'model.name: {}' reads {}",
                   shortened(architecture.json), model, fmt::join(format.architectures, ", "));
    return;
  }
  const HubValue given = value_or_null(values, "architectures");
  const Json architectures = Json::parse(given.json);
  if (architectures.is_null()) return;
  if (!architectures.is_array()) {
    problems.add(given, "'architectures' must be a list, not {}", shortened(given.json));
    return;
  }
  if (!strict || architectures.empty()) return;
  const bool known = std::ranges::any_of(architectures, [&](const Json& name) {
    return is_one_of(format.architectures, name.dump());
  });
  if (!known)
    problems.add(given,
                 "is of architecture {}, but 'model.name: {}' reads {} ('model.strict: false' uses "
                 "the weights that fit)",
                 shortened(architectures[0].dump()), model, fmt::join(format.architectures, ", "));
}

void check_fixed(const HubValues& values, const HubFormat& format, const std::string& model,
                 Problems& problems) {
  for (const auto& [key, value] : format.fixed) {
    const HubValue theirs = value_or_null(values, key.c_str());
    if (theirs == "null" || Json::parse(theirs.json) == Json::parse(value.json)) continue;
    problems.add(theirs, "has {}: {}, but '{}' computes {} only", key, shortened(theirs.json),
                 model, value.json);
  }
}

/// A value whose members are read must be an object.
void check_objects(const HubValues& values, const HubFormat& format, Problems& problems) {
  std::set<std::string> outer(format.objects.begin(), format.objects.end());
  outer.insert("id2label");
  for (const auto& [key, value] : format.fixed)
    if (const std::size_t dot = key.find('.'); dot != key.npos) outer.insert(key.substr(0, dot));
  for (const std::string& key : outer) {
    const HubValue value = value_or_null(values, key.c_str());
    if (value != "null" && !value.json.starts_with('{'))
      problems.add(value, "'{}' must be an object, not {}", key, shortened(value.json));
  }
}

/// Each member of the object and of the objects in it, but no deeper.
HubValues flatten(const JsonPlace& root) {
  HubValues out;
  // A key of the file that has a dot itself is not a nested one.
  const auto is_plain = [](const std::string& key) { return key.find('.') == key.npos; };
  root.for_each_member([&](const std::string& outer, const JsonPlace& value) {
    if (!is_plain(outer)) return;
    out[outer] = {value.dump(), value.position()};
    const bool has_names = outer == "id2label" || outer == "label2id";  // which may be long
    if (!value.is_object() || has_names) return;
    value.for_each_member([&](const std::string& inner, const JsonPlace& member) {
      if (is_plain(inner)) out[outer + "." + inner] = {member.dump(), member.position()};
    });
  });
  return out;
}

/// A file's JSON, which is an object.
JsonPlace read_object(const std::string& path) {
  JsonPlace out = JsonPlace::read(path, ErrorKind::kUsage);
  if (!out.is_object()) out.refuse(fmt::format("must be an object, not {}", out.describe()));
  return out;
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
  Problems problems{.path = (fs::path(folder) / kHubConfig).string()};
  HubValues out = flatten(read_object(problems.path));
  check_kind(out, format, model, strict, problems);
  if (problems.all.empty()) {
    check_fixed(out, format, model, problems);
    check_objects(out, format, problems);
  }
  if (!problems.all.empty()) raise(ErrorKind::kUsage, "{}", fmt::join(problems.all, "\n"));
  out.insert(format.defaults.begin(), format.defaults.end());
  if (const HubValue names = value_or_null(out, "id2label"); names != "null")
    out["num_labels"] = {std::to_string(Json::parse(names.json).size()), names.place};
  if (format.from_hub != nullptr) format.from_hub(out);
  std::erase_if(out, [](const auto& value) { return value.second == "null"; });
  return out;
}

namespace {

/// The factor for pixels from 0 to 1 before normalization: transformers rescales those from 0 to
/// 255.
double scale_of_pixels(const JsonPlace& json) {
  constexpr double kLargest = 255;
  if (!json.boolean_or("do_rescale", true)) return kLargest;
  const auto factor = json.find("rescale_factor");
  if (!factor) return 1;
  if (!(factor->real() > 0))
    factor->refuse(fmt::format("must be a number above 0, not {}", factor->describe()));
  const double scale = kLargest * factor->real();
  constexpr double kRounded = 1e-6;
  return std::abs(scale - 1) < kRounded ? 1 : scale;
}

/// A number, or those of a list, divided by one.
std::string divided(const JsonPlace& given, double by) {
  if (by == 1) return given.dump();
  if (!given.is_list()) return Json(given.real() / by).dump();
  Json out = Json::array();
  for (const JsonPlace& number : given.elements()) out.push_back(number.real() / by);
  return out.dump();
}

}  // namespace

std::vector<std::string> hub_classes(const std::string& folder) {
  const JsonPlace json = read_object((fs::path(folder) / kHubConfig).string());
  const auto names = json.find("id2label");
  if (!names) return {};
  std::map<std::string, std::string> by_id;
  names->for_each_member(
      [&](const std::string& id, const JsonPlace& name) { by_id.emplace(id, name.string()); });
  std::vector<std::string> out;
  bool made_up = true;
  for (std::size_t i = 0; i < by_id.size(); ++i) {
    const auto found = by_id.find(std::to_string(i));
    if (found == by_id.end())
      names->refuse(fmt::format("has {} labels, but none for {}", by_id.size(), i));
    out.push_back(found->second);
    made_up &= out.back() == made_up_label(i);
  }
  if (made_up) return {};
  return out;
}

HubValues read_preprocessor(const std::string& folder) {
  const std::string path = (fs::path(folder) / kHubPreprocessor).string();
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const JsonPlace json = read_object(path);
  const bool normalizes = json.boolean_or("do_normalize", true);
  const double scale = scale_of_pixels(json);
  HubValues out;
  const auto take = [&](const char* key, double none) {
    if (!normalizes) {
      out[key] = Json::array({none / scale}).dump();
    } else if (const auto given = json.find(key)) {
      out[key] = {divided(*given, scale), given->position()};
    }
  };
  take("image_mean", 0.0);
  take("image_std", 1.0);
  return out;
}

std::string made_up_label(std::size_t number) {
  return fmt::format("LABEL_{}", number);
}

std::string hub_config_text(const HubValues& values) {
  Json out = Json::object();
  for (const auto& [key, value] : values) {
    const std::size_t dot = key.find('.');
    Json& at = dot == std::string::npos ? out[key] : out[key.substr(0, dot)][key.substr(dot + 1)];
    at = Json::parse(value.json);
  }
  return out.dump(2) + "\n";
}

}  // namespace lockstep
