#include "trainer/config/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "trainer/config/schema.h"
#include "trainer/config/values.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

/// What `config` would have if the key were not given; "" for required keys.
std::string default_text(const ConfigKey& key) {
  if (key.required) return "";
  return key.path == "run.name" ? "the file's name" : value_text(key, Config{});
}

void bound(Json& type, const Range& range) {
  if (std::isfinite(range.min)) type[range.min_open ? "exclusiveMinimum" : "minimum"] = range.min;
  if (std::isfinite(range.max)) type[range.max_open ? "exclusiveMaximum" : "maximum"] = range.max;
}

Json number_type(const char* name, const Range& range) {
  Json out{{"type", name}};
  bound(out, range);
  return out;
}

struct JsonType {
  const ConfigKey& key;

  Json operator()(Member<std::int64_t>) const { return number_type("integer", key.range); }
  Json operator()(Member<double>) const { return number_type("number", key.range); }
  Json operator()(Member<bool>) const { return {{"type", "boolean"}}; }
  Json operator()(Member<std::string>) const {
    Json out{{"type", "string"}};
    if (!key.may_be_empty) out["minLength"] = 1;
    return out;
  }
  Json operator()(Member<std::vector<std::string>>) const {
    const Json text{{"type", "string"}, {"minLength", 1}};
    Json list{{"type", "array"}, {"items", text}};
    if (!key.may_be_empty) list["minItems"] = 1;
    return {{"anyOf", Json::array({text, list})}};
  }
  Json operator()(Member<std::vector<std::int64_t>>) const {
    return {{"type", "array"}, {"items", number_type("integer", key.range)}};
  }
  Json operator()(Member<std::array<double, 2>>) const { return list_of_two("number", 2); }
  Json operator()(Member<std::optional<IndexRange>>) const { return list_of_two("integer", 0); }
  Json operator()(const EnumMember& member) const {
    Json names = Json::array();
    for (std::string_view name : member.names) names.push_back(std::string(name));
    return {{"enum", names}};
  }

  Json list_of_two(const char* of, int min_items) const {
    return {{"type", "array"},
            {"items", number_type(of, key.range)},
            {"minItems", min_items},
            {"maxItems", 2}};
  }
};

/// The key's default as JSON, by way of its YAML text, which is flow style and so nearly JSON.
Json json_default(const ConfigKey& key) {
  const std::string text = default_text(key);
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(text) : value;
}

std::string condition_text(const ConfigKey& key) {
  std::vector<std::string_view> values;
  for (std::string_view value : key.when->values) {
    if (!value.empty()) values.push_back(value);
  }
  return fmt::format("Only with {}: {}.", key.when->key, fmt::join(values, " or "));
}

/// {"model.name": ["mlp", "lenet"]}
Json json_condition(const ConfigKey& key) {
  Json values = Json::array();
  for (std::string_view value : key.when->values)
    if (!value.empty()) values.push_back(std::string(value));
  return {{std::string(key.when->key), values}};
}

}  // namespace

std::string config_yaml(const Config& config) {
  std::string out;
  std::string_view section;
  for (const ConfigKey& key : config_keys()) {
    if (unmet_condition(key, config) != nullptr) continue;
    if (key.section() != section) {
      section = key.section();
      out += fmt::format("{}:\n", section);
    }
    out += fmt::format("  {}: {}\n", key.name(), value_text(key, config));
  }
  return out;
}

std::string config_schema_text() {
  std::string out;
  for (const ConfigKey& key : config_keys()) {
    const std::string value = default_text(key);
    out += fmt::format("{}: {}{}{}\n    {}{}{}\n", key.path, key.type_text(),
                       key.unit.empty() ? "" : fmt::format(" ({})", key.unit),
                       key.required ? ", required" : fmt::format(", default {}", value), key.doc,
                       key.per_rank ? " Ranks may differ." : "",
                       key.when == nullptr ? "" : " " + condition_text(key));
  }
  return out;
}

std::string config_schema_json() {
  Json sections = Json::object();
  for (const ConfigKey& key : config_keys()) {
    Json& section = sections[std::string(key.section())];
    section["type"] = "object";
    section["additionalProperties"] = false;
    Json type = std::visit(JsonType{key}, key.member);
    type["description"] = key.when == nullptr ? std::string(key.doc)
                                              : fmt::format("{} {}", key.doc, condition_text(key));
    if (!key.required && key.path != "run.name") type["default"] = json_default(key);
    type["x-per-rank"] = key.per_rank;
    if (key.when != nullptr) type["x-only-with"] = json_condition(key);
    section["properties"][std::string(key.name())] = std::move(type);
    if (key.required && key.when == nullptr) section["required"].push_back(std::string(key.name()));
  }
  Json required = Json::array();
  for (const auto& [name, section] : sections.items()) {
    if (section.contains("required")) required.push_back(name);
  }
  const Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                    {"title", "lockstep config"},
                    {"type", "object"},
                    {"additionalProperties", false},
                    {"required", required},
                    {"properties", sections}};
  return schema.dump(2) + "\n";
}

std::vector<std::string> config_diff(const Config& before, const Config& after) {
  const auto text = [](const ConfigKey& key, const Config& config) {
    return unmet_condition(key, config) == nullptr ? value_text(key, config) : "(none)";
  };
  std::vector<std::string> out;
  for (const ConfigKey& key : config_keys()) {
    const std::string a = text(key, before);
    const std::string b = text(key, after);
    if (a != b) out.push_back(fmt::format("{}: {} -> {}", key.path, a, b));
  }
  return out;
}

}  // namespace lockstep
