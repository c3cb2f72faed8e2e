#include "trainer/config/folder_keys.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/restore.h"
#include "core/base/error.h"
#include "trainer/config/values.h"
#include "trainer/hub/hub_config.h"
#include "trainer/hub/weight_source.h"

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

constexpr const char* kWholeModel = "model.init_from";

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
  if (const std::string& path = config.model.init_from; !path.empty())
    out.push_back({.key = kWholeModel,
                   .path = path,
                   .part = "",
                   .format = format == nullptr ? HubFormat() : *format});
  if (format == nullptr) return out;
  for (const HubPart& part : format->parts) {
    const std::string key = folder_key(part);
    for (const std::string& path : texts_of(*schema.find(key, config), config))
      out.push_back(
          {.key = key, .path = path, .part = part.section + ".", .format = part.format()});
  }
  return out;
}

bool brings_texts(const WeightFolder& folder) {
  return folder.part.empty() || !folder.format.sees_images;
}

void clear_weight_folders(const Schema& schema, Config& config) {
  config.model.init_from.clear();
  const HubFormat* format = hub_of(schema, config);
  if (format == nullptr) return;
  for (const HubPart& part : format->parts)
    reset_value(*schema.find(folder_key(part), config), config);
}

namespace {

/// Takes values of a folder or a run for keys that the config does not give.
class KeyTaker {
 public:
  using IsGiven = std::function<bool(std::string_view path)>;
  KeyTaker(const Schema& schema, const IsGiven& is_given, Config& config)
      : schema_(schema), is_given_(is_given), config_(config) {}

  /// `place`: where the value is; `source`: whose the keys are.
  template <class Value>
  void take(const ConfigKey& key, const Value& value, const std::string& place,
            const std::string& source) {
    Config theirs = config_;
    if (const auto problem = set_value(key, value, theirs)) {
      out.problems.push_back(fmt::format("{}: {}", place, *problem));
    } else if (!is_given_(key.path)) {
      config_ = std::move(theirs);
    } else if (value_text(key, theirs) != value_text(key, config_)) {
      out.overruled.push_back(fmt::format("config instead of {}: {} is {}, not {}", source,
                                          key.path, value_text(key, config_),
                                          value_text(key, theirs)));
    }
  }
  bool wants_tokenizer() const {
    const bool data_has_one =
        !config_.data.type.empty() && schema_.registry().at(config_.data).brings_tokenizer;
    return !is_given_("tokenizer.type") && !data_has_one &&
           schema_.unmet(*schema_.find("tokenizer.type"), config_) == nullptr;
  }

  FolderKeys out;

 private:
  const Schema& schema_;
  const IsGiven& is_given_;
  Config& config_;
};

FolderKeys take_hub_keys(const Schema& schema, const WeightFolder& folder,
                         const KeyTaker::IsGiven& is_given, Config& config) {
  const ModelRow& model = schema.registry().at(config.model);
  const HubFormat& format = folder.format;
  if (!model.hub)
    raise(ErrorKind::kUsage,
          "'{}' {}: model '{}' has no form of Hugging Face; give a run or a checkpoint", folder.key,
          folder.path, model.name);
  KeyTaker keys(schema, is_given, config);
  const std::string tokenizer = (std::filesystem::path(folder.path) / kHubTokenizer).string();
  std::error_code error;
  if (keys.wants_tokenizer() && std::filesystem::exists(tokenizer, error))
    config.tokenizer = {.type = TokenizerType::kFile, .path = tokenizer};
  const HubValues values = read_hub_config(folder.path, format, model.name, config.model.strict);
  const auto take = [&](const std::string& path, const HubValue& value, const char* file) {
    const ConfigKey* key = schema.find(path, config);
    if (key == nullptr || key->row == nullptr) return;
    keys.take(*key, to_yaml(nlohmann::json::parse(value.json)),
              value.place.empty() ? fmt::format("{}/{}", folder.path, file) : value.place,
              fmt::format("{}/{}", folder.path, kHubConfig));
  };
  for (const auto& [name, value] : values) take("model." + folder.part + name, value, kHubConfig);
  if (folder.part.empty()) add_groups_that_are_none(schema, model, values, keys.out.problems);
  if (!format.sees_images) return std::move(keys.out);
  const bool of_timm = format.model_type.empty();
  const HubValues images = of_timm ? values : read_preprocessor(folder.path);
  for (const auto& [path, name] : kImageKeys)
    if (const auto found = images.find(name); found != images.end())
      take(std::string(path), found->second, of_timm ? kHubConfig : kHubPreprocessor);
  return std::move(keys.out);
}

/// Whether it is of a model that may see images.
bool brings_images(const WeightFolder& folder) {
  return folder.part.empty() || folder.format.sees_images;
}

/// Whether models have the same keys by the same names: BERT and its classifier, for example.
bool are_one_family(const Registry& registry, const ModelConfig& a, const ModelConfig& b) {
  if (a.name == b.name) return true;
  const ModelRow &first = registry.at(a), &second = registry.at(b);
  return first.hub && second.hub && !first.hub->model_type.empty() &&
         first.hub->model_type == second.hub->model_type;
}

/// A part has the sizes of what it begins with: a run of another model says nothing of them.
void check_family_of_part(const Registry& registry, const WeightFolder& source,
                          const ModelConfig& theirs) {
  std::vector<std::string> fitting;
  for (const ModelRow& model : registry.models())
    if (model.hub && model.hub->model_type == source.format.model_type)
      fitting.push_back(model.name);
  LS_USER_CHECK(std::ranges::find(fitting, theirs.name) != fitting.end(),
                "'{}' {}: a run of model '{}', but this part of the model is a '{}'", source.key,
                source.path, theirs.name, fmt::join(fitting, "' or '"));
}

FolderKeys take_run_keys(const Schema& schema, const WeightFolder& source,
                         const KeyTaker::IsGiven& is_given, Config& config) {
  KeyTaker keys(schema, is_given, config);
  const CheckpointReader file = open_checkpoint(source.path);
  // A program's own model has no keys, and its weights may fit this one.
  if (file.config_yaml().starts_with(kOfAProgram)) return {};
  if (!find_missing_rows(file.config_yaml(), schema.registry()).empty()) return {};
  const Config theirs =
      parse_config(file.config_yaml(), file.path() + ": the saved config", schema.registry())
          .config;
  if (brings_texts(source) && keys.wants_tokenizer()) config.tokenizer = theirs.tokenizer;
  if (!source.part.empty())
    check_family_of_part(schema.registry(), source, theirs.model);
  else if (!are_one_family(schema.registry(), theirs.model, config.model))
    return std::move(keys.out);
  const std::string prefix = "model." + source.part;
  const auto has_image_key = [&](const std::string& path) {
    return std::ranges::find(kImageKeys, path, [](const auto& pair) { return pair.first; }) !=
           kImageKeys.end();
  };
  const std::vector<WeightFolder> folders = weight_folders(schema, theirs);
  for (const ConfigKey& key : schema.keys()) {
    const bool is_of_model = key.path.starts_with(prefix);
    const bool is_of_images = has_image_key(key.path) && brings_images(source);
    if (key.row == nullptr || (!is_of_model && !is_of_images)) continue;
    if (schema.find(key.path, config) != &key || key.path == source.key) continue;
    const ConfigKey* other =
        schema.find(is_of_model ? "model." + key.path.substr(prefix.size()) : key.path, theirs);
    const bool is_folder =
        std::ranges::find(folders, key.path, &WeightFolder::key) != folders.end();
    if (other == nullptr || other->row == nullptr || is_folder) continue;
    keys.take(key, value_text(*other, theirs), file.path(), file.path());
  }
  return std::move(keys.out);
}

}  // namespace

FolderKeys take_folder_keys(const Schema& schema, const WeightFolder& folder,
                            const std::function<bool(std::string_view path)>& is_given,
                            Config& config) {
  if (is_hub_folder(folder.path)) return take_hub_keys(schema, folder, is_given, config);
  return take_run_keys(schema, folder, is_given, config);
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
