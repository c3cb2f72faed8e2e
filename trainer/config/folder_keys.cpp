#include "trainer/config/folder_keys.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "trainer/config/values.h"
#include "trainer/hub/hub_config.h"

namespace lockstep {
namespace {

/// A JSON value as one of a config file.
YamlNode to_yaml(const nlohmann::json& value) {
  YamlNode out;
  if (value.is_object()) {
    out.kind = YamlNode::Kind::kMap;
    out.text = "an object";
    return out;
  }
  if (value.is_array()) {
    out.kind = YamlNode::Kind::kList;
    for (const auto& item : value) out.items.push_back(to_yaml(item));
    return out;
  }
  out.kind = YamlNode::Kind::kScalar;
  out.quoted = value.is_string();
  out.text = out.quoted ? value.get<std::string>() : value.dump();
  return out;
}

/// A model's keys "outer.inner" are members of an object in config.json.
void add_groups_that_are_none(const Schema& schema, const ModelRow& model, const HubValues& values,
                              std::vector<std::string>& problems) {
  std::set<std::string> outer;
  for (const ConfigKey& key : schema.keys())
    if (const std::size_t dot = key.name.find('.');
        key.section == "model" && key.row == &model && dot != key.name.npos)
      outer.insert(key.name.substr(0, dot));
  for (const std::string& name : outer)
    if (const auto found = values.find(name);
        found != values.end() && !found->second.json.starts_with('{'))
      problems.push_back(
          fmt::format("{}: 'model.{}' must be an object, not {}", found->second.place, name,
                      to_yaml(nlohmann::json::parse(found->second.json)).describe()));
}

/// Which key of a dataset of images takes which value of a folder.
constexpr std::array<std::pair<std::string_view, const char*>, 2> kImageKeys{
    {{"data.normalize_mean", "image_mean"}, {"data.normalize_std", "image_std"}}};

constexpr const char* kWholeFolder = "model.from_pretrained";

std::string folder_key(const HubPart& part) {
  return fmt::format("model.{}.from_pretrained", part.section);
}

/// Null if the model has none, or there is no such model.
const HubFormat* hub_of(const Schema& schema, const Config& config) {
  for (const ModelRow& model : schema.registry().models())
    if (model.name == config.model.name && model.hub) return &*model.hub;
  return nullptr;
}

}  // namespace

std::vector<WeightFolder> weight_folders(const Schema& schema, const Config& config) {
  std::vector<WeightFolder> out;
  const HubFormat* format = hub_of(schema, config);
  if (format == nullptr) return out;
  if (const std::string& path = config.model.from_pretrained; !path.empty())
    out.push_back({.key = kWholeFolder, .path = path, .part = "", .format = *format});
  for (const HubPart& part : format->parts) {
    const std::string key = folder_key(part);
    for (const std::string& path : texts_of(*schema.find(key, config), config))
      out.push_back(
          {.key = key, .path = path, .part = part.section + ".", .format = part.format()});
  }
  return out;
}

void clear_weight_folders(const Schema& schema, Config& config) {
  config.model.from_pretrained.clear();
  const HubFormat* format = hub_of(schema, config);
  if (format == nullptr) return;
  for (const HubPart& part : format->parts)
    reset_value(*schema.find(folder_key(part), config), config);
}

FolderKeys take_folder_keys(const Schema& schema, const WeightFolder& folder,
                            const std::function<bool(std::string_view path)>& is_given,
                            Config& config) {
  const ModelRow& model = schema.registry().at(config.model);
  const HubFormat& format = folder.format;
  const std::string tokenizer = (std::filesystem::path(folder.path) / kHubTokenizer).string();
  std::error_code error;
  const bool data_has_one =
      !config.data.type.empty() && schema.registry().at(config.data).brings_tokenizer;
  if (!is_given("tokenizer.type") && !data_has_one &&
      schema.unmet(*schema.find("tokenizer.type"), config) == nullptr &&
      std::filesystem::exists(tokenizer, error))
    config.tokenizer = {.type = TokenizerType::kFile, .path = tokenizer};
  const HubValues values = read_hub_config(folder.path, format, model.name, config.model.strict);
  FolderKeys out;
  const auto take = [&](const std::string& path, const HubValue& value, const char* file) {
    const ConfigKey* key = schema.find(path, config);
    if (key == nullptr || key->row == nullptr) return;
    Config theirs = config;
    if (const auto problem = set_value(*key, to_yaml(nlohmann::json::parse(value.json)), theirs)) {
      out.problems.push_back(fmt::format(
          "{}: {}", value.place.empty() ? fmt::format("{}/{}", folder.path, file) : value.place,
          *problem));
    } else if (!is_given(key->path)) {
      config = std::move(theirs);
    } else if (value_text(*key, theirs) != value_text(*key, config)) {
      out.overruled.push_back(fmt::format("config instead of {}/{}: {} is {}, not {}", folder.path,
                                          kHubConfig, key->path, value_text(*key, config),
                                          value_text(*key, theirs)));
    }
  };
  for (const auto& [name, value] : values) take("model." + folder.part + name, value, kHubConfig);
  if (folder.part.empty()) add_groups_that_are_none(schema, model, values, out.problems);
  if (!format.sees_images) return out;
  const bool of_timm = format.model_type.empty();
  const HubValues images = of_timm ? values : read_preprocessor(folder.path);
  for (const auto& [path, name] : kImageKeys)
    if (const auto found = images.find(name); found != images.end())
      take(std::string(path), found->second, of_timm ? kHubConfig : kHubPreprocessor);
  return out;
}

void take_saved_keys(const Config& saved, const LoadedConfig& given, const Registry& registry,
                     Config& config) {
  if (saved.model.name != config.model.name) return;
  if (!given.origins.contains("tokenizer.type")) config.tokenizer = saved.tokenizer;
  const Schema schema(registry);
  const auto is_from_folder = [&](const ConfigKey& key) {
    if (key.row == nullptr) return false;
    if (key.section == "model") return key.row->name == config.model.name;
    return saved.data.type == config.data.type && key.row->name == config.data.type &&
           std::ranges::find(kImageKeys, key.path, [](const auto& pair) { return pair.first; }) !=
               kImageKeys.end();
  };
  for (const ConfigKey& key : schema.keys()) {
    if (!is_from_folder(key) || given.origins.contains(key.path)) continue;
    const auto problem = set_value(key, value_text(key, saved), config);
    LS_CHECK(!problem, "{}", *problem);
  }
}

}  // namespace lockstep
