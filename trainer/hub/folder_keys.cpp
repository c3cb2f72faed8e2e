#include "trainer/hub/folder_keys.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "trainer/config/values.h"
#include "trainer/hub/hub_config.h"

namespace lockstep {
namespace {

/// A JSON value as one of a config file.
YamlNode to_yaml(const std::string& json) {
  const auto value = nlohmann::json::parse(json);
  YamlNode out;
  out.kind = YamlNode::Kind::kScalar;
  out.quoted = value.is_string();
  out.text = out.quoted ? value.get<std::string>() : json;
  return out;
}

}  // namespace

FolderKeys take_folder_keys(const Schema& schema,
                            const std::function<bool(std::string_view path)>& is_given,
                            Config& config) {
  const ModelRow& model = schema.registry().at(config.model);
  LS_CHECK(model.hub.has_value(), "{} has no form on the hub", model.name);
  const std::string& folder = config.model.from_pretrained;
  const std::string tokenizer = (std::filesystem::path(folder) / kHubTokenizer).string();
  std::error_code error;
  if (!is_given("tokenizer.type") && config.data.type != "tokens" &&
      schema.unmet(*schema.find("tokenizer.type"), config) == nullptr &&
      std::filesystem::exists(tokenizer, error))
    config.tokenizer = {.type = TokenizerType::kFile, .path = tokenizer};
  const HubValues values = read_hub_config(folder, *model.hub, model.name, config.model.strict);
  FolderKeys out;
  for (const auto& [name, json] : values) {
    const ConfigKey* key = schema.find("model." + name, config);
    if (key == nullptr || key->row == nullptr) continue;
    Config theirs = config;
    if (const auto problem = set_value(*key, to_yaml(json), theirs)) {
      out.problems.push_back(fmt::format("{}/{}: {}", folder, kHubConfig, *problem));
    } else if (!is_given(key->path)) {
      config = std::move(theirs);
    } else if (value_text(*key, theirs) != value_text(*key, config)) {
      out.overruled.push_back(fmt::format("{} is {}, not {}", key->path, value_text(*key, config),
                                          value_text(*key, theirs)));
    }
  }
  return out;
}

void take_saved_keys(const Config& saved, const LoadedConfig& given, const Registry& registry,
                     Config& config) {
  if (saved.model.name != config.model.name) return;
  if (!given.origins.contains("tokenizer.type")) config.tokenizer = saved.tokenizer;
  const Schema schema(registry);
  for (const ConfigKey& key : schema.keys()) {
    if (key.section != "model" || key.row == nullptr || key.row->name != config.model.name ||
        given.origins.contains(key.path))
      continue;
    const auto problem = set_value(key, value_text(key, saved), config);
    LS_CHECK(!problem, "{}", *problem);
  }
}

}  // namespace lockstep
