#include "trainer/config/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "trainer/config/schema.h"
#include "trainer/config/values.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Keys of one path that differ only in the row that they belong to.
struct KeyOfRows {
  const ConfigKey* key;
  std::optional<Condition> when;  ///< of all of them together

  std::string default_text() const {
    if (key->required) return "";
    return key->path == "run.name" ? "the file's name" : default_value_text(*key);
  }
};

bool are_equal(const ConfigKey& a, const ConfigKey& b) {
  return a.path == b.path && a.aliases == b.aliases && a.type_text() == b.type_text() &&
         a.range == b.range && a.unit == b.unit && a.doc == b.doc && a.required == b.required &&
         a.may_be_empty == b.may_be_empty && a.per_rank == b.per_rank && a.file == b.file &&
         (a.required || default_value_text(a) == default_value_text(b));
}

/// All keys. A key that every row of its section has needs no condition.
std::vector<KeyOfRows> merge_rows(const Schema& schema) {
  std::vector<KeyOfRows> out;
  for (const ConfigKey& key : schema.keys()) {
    const auto same = std::ranges::find_if(
        out, [&](const KeyOfRows& other) { return are_equal(*other.key, key); });
    if (same == out.end()) {
      out.push_back({&key, key.when});
    } else {
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): keys of rows have a condition
      same->when->values.push_back(key.row->name);
    }
  }
  for (KeyOfRows& merged : out) {
    const RowSection* rows = merged.key->rows;
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a key of rows has a condition
    if (rows != nullptr && merged.when->values.size() == rows->rows(schema.registry()).size())
      merged.when.reset();
  }
  return out;
}

void bound(OrderedJson& type, const Range& range) {
  if (std::isfinite(range.min)) type[range.min_open ? "exclusiveMinimum" : "minimum"] = range.min;
  if (std::isfinite(range.max)) type[range.max_open ? "exclusiveMaximum" : "maximum"] = range.max;
}

OrderedJson number_type(const char* name, const Range& range) {
  OrderedJson out{{"type", name}};
  bound(out, range);
  return out;
}

struct JsonType {
  const ConfigKey& key;

  OrderedJson operator()(Member<std::int64_t>) const {
    return or_empty_word(number_type("integer", key.range));
  }
  OrderedJson operator()(Member<double>) const { return number_type("number", key.range); }
  OrderedJson operator()(Member<bool>) const { return {{"type", "boolean"}}; }
  OrderedJson operator()(Member<std::string>) const {
    OrderedJson out{{"type", "string"}};
    if (!key.may_be_empty) out["minLength"] = 1;
    return out;
  }
  OrderedJson operator()(Member<std::vector<std::string>>) const {
    const OrderedJson text{{"type", "string"}, {"minLength", 1}};
    OrderedJson list{{"type", "array"}, {"items", text}};
    if (!key.may_be_empty) list["minItems"] = 1;
    return {{"anyOf", OrderedJson::array({text, list})}};
  }
  OrderedJson operator()(Member<std::vector<std::int64_t>>) const {
    OrderedJson list{{"type", "array"}, {"items", number_type("integer", key.range)}};
    return or_empty_word(list);
  }
  OrderedJson operator()(Member<std::vector<double>>) const {
    const OrderedJson number = number_type("number", key.range);
    OrderedJson list{{"type", "array"}, {"items", number}};
    if (!key.may_be_empty) list["minItems"] = 1;
    return {{"anyOf", OrderedJson::array({number, list})}};
  }
  OrderedJson operator()(Member<std::array<double, 2>>) const { return list_of_two("number", 2); }
  OrderedJson operator()(Member<std::optional<IndexRange>>) const {
    return list_of_two("integer", 0);
  }
  OrderedJson operator()(Member<std::vector<LengthShare>>) const {
    const OrderedJson length = number_type("integer", key.range);
    const OrderedJson probability = number_type("number", {0, 1, true});
    const OrderedJson share{{"type", "array"},
                            {"prefixItems", OrderedJson::array({length, length, probability})},
                            {"minItems", 3},
                            {"maxItems", 3}};
    return {{"type", "array"}, {"items", share}, {"minItems", 1}};
  }
  OrderedJson operator()(Member<std::vector<ParameterGroup>>) const {
    const OrderedJson text{{"type", "string"}, {"minLength", 1}};
    const OrderedJson list{{"type", "array"}, {"items", text}, {"minItems", 1}};
    const OrderedJson group{
        {"type", "object"},
        {"properties", {{"match", {{"anyOf", OrderedJson::array({text, list})}}}}},
        {"required", OrderedJson::array({"match"})},
        {"minProperties", 2}};
    return {{"type", "array"}, {"items", group}};
  }
  OrderedJson operator()(const EnumMember& member) const {
    OrderedJson names = OrderedJson::array();
    for (std::string_view name : member.names) names.push_back(std::string(name));
    return {{"enum", names}};
  }
  OrderedJson operator()(const ChoiceMember& choice) const { return {{"enum", choice.names}}; }

  OrderedJson or_empty_word(OrderedJson type) const {
    if (key.empty_word.empty()) return type;
    return {
        {"anyOf", OrderedJson::array({{{"enum", OrderedJson::array({key.empty_word})}}, type})}};
  }
  OrderedJson list_of_two(const char* of, int min_items) const {
    return {{"type", "array"},
            {"items", number_type(of, key.range)},
            {"minItems", min_items},
            {"maxItems", 2}};
  }
};

/// The key's default as JSON, by way of its YAML text, which is flow style and so nearly JSON.
OrderedJson json_default(const KeyOfRows& merged) {
  const std::string text = merged.default_text();
  OrderedJson value = OrderedJson::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? OrderedJson(text) : value;
}

std::string condition_text(const Condition& when) {
  return fmt::format("Only with {}: {}.", when.key, fmt::join(when.values, " or "));
}

/// The meaning of the key, including its other names.
std::string doc_text(const ConfigKey& key) {
  if (key.aliases.empty()) return key.doc;
  return fmt::format("{} Also written {}.", key.doc, fmt::join(key.aliases, ", "));
}

OrderedJson json_of(const KeyOfRows& merged) {
  const ConfigKey& key = *merged.key;
  OrderedJson out = std::visit(JsonType{key}, key.member);
  out["description"] = merged.when
                           ? fmt::format("{} {}", doc_text(key), condition_text(*merged.when))
                           : doc_text(key);
  if (!key.required && key.path != "run.name") out["default"] = json_default(merged);
  out["x-per-rank"] = key.per_rank;
  // {"data.type": ["text", "tokens"]}
  if (merged.when) out["x-only-with"] = {{merged.when->key, merged.when->values}};
  return out;
}

/// A second key of the same path makes it one of several.
void add_property(OrderedJson& properties, const std::string& name, OrderedJson key) {
  if (!properties.contains(name)) {
    properties[name] = std::move(key);
    return;
  }
  OrderedJson& known = properties[name];
  if (!known.contains("anyOf") || known.contains("description"))
    known = {{"anyOf", OrderedJson::array({known})}};
  known["anyOf"].push_back(std::move(key));
}

/// {"trace", "steps"} of "trace.steps", {"", "ledger"} of "ledger".
std::pair<std::string_view, std::string_view> split_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

}  // namespace

std::string config_yaml(const Config& config, const Registry& registry) {
  const Schema schema(registry);
  std::string out;
  std::string_view section;
  std::string_view subsection;
  for (const ConfigKey& key : schema.keys()) {
    if (schema.unmet(key, config) != nullptr) continue;
    if (key.section != section) {
      section = key.section;
      subsection = "";
      out += fmt::format("{}:\n", section);
    }
    const auto [outer, name] = split_name(key.name);
    if (outer != subsection && !outer.empty()) out += fmt::format("  {}:\n", outer);
    subsection = outer;
    out += fmt::format("  {}{}: {}\n", outer.empty() ? "" : "  ", name, value_text(key, config));
  }
  return out;
}

std::string config_schema_text(const Registry& registry) {
  const Schema schema(registry);
  std::string out;
  for (const KeyOfRows& merged : merge_rows(schema)) {
    const ConfigKey& key = *merged.key;
    out += fmt::format(
        "{}: {}{}{}\n    {}{}{}\n", key.path, key.type_text(),
        key.unit.empty() ? "" : fmt::format(" ({})", key.unit),
        key.required ? ", required" : fmt::format(", default {}", merged.default_text()),
        doc_text(key), key.per_rank ? " Ranks may differ." : "",
        merged.when ? " " + condition_text(*merged.when) : "");
  }
  return out;
}

std::string config_schema_json(const Registry& registry) {
  const Schema schema(registry);
  OrderedJson sections = OrderedJson::object();
  for (const KeyOfRows& merged : merge_rows(schema)) {
    const ConfigKey& key = *merged.key;
    OrderedJson& section = sections[key.section];
    section["type"] = "object";
    section["additionalProperties"] = false;
    const auto [outer, name] = split_name(key.name);
    if (outer.empty()) {
      add_property(section["properties"], key.name, json_of(merged));
      for (const std::string& alias : key.aliases) {
        OrderedJson& properties = section["properties"];
        OrderedJson other_name = json_of(merged);
        other_name["x-alias-of"] = key.path;
        if (!properties.contains(alias)) add_property(properties, alias, std::move(other_name));
      }
    } else {
      OrderedJson& inner = section["properties"][std::string(outer)];
      inner["type"] = "object";
      inner["additionalProperties"] = false;
      add_property(inner["properties"], std::string(name), json_of(merged));
    }
    if (key.required && !merged.when) section["required"].push_back(key.name);
  }
  OrderedJson required = OrderedJson::array();
  for (const auto& [name, section] : sections.items()) {
    if (section.contains("required")) required.push_back(name);
  }
  const OrderedJson out{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                        {"title", "lockstep config"},
                        {"type", "object"},
                        {"additionalProperties", false},
                        {"required", required},
                        {"properties", sections}};
  return out.dump(2) + "\n";
}

std::string config_keys_json(const Registry& registry) {
  const Schema schema(registry);
  OrderedJson out = OrderedJson::array();
  for (const KeyOfRows& merged : merge_rows(schema)) {
    const ConfigKey& key = *merged.key;
    OrderedJson row{{"section", key.section},
                    {"path", key.path},
                    {"aliases", key.aliases},
                    {"type", key.type_text()},
                    {"default", merged.default_text()},
                    {"required", key.required},
                    {"unit", key.unit},
                    {"doc", key.doc},
                    {"per_rank", key.per_rank},
                    {"since", key.since}};
    if (merged.when) row["only_with"] = {{merged.when->key, merged.when->values}};
    out.push_back(std::move(row));
  }
  return out.dump(1);
}

std::vector<std::string> config_diff(const Config& before, const Config& after,
                                     const Registry& registry) {
  const Schema schema(registry);
  const auto text = [&](const std::string& path, const Config& config) -> std::string {
    const ConfigKey* key = schema.find(path, config);
    if (key == nullptr || schema.unmet(*key, config) != nullptr) return "(none)";
    return value_text(*key, config);
  };
  std::vector<std::string> out;
  for (const ConfigKey& key : schema.keys()) {
    if (schema.find(key.path) != &key)
      continue;  // another row's key of a path that is already printed
    const std::string a = text(key.path, before);
    const std::string b = text(key.path, after);
    if (a != b) out.push_back(fmt::format("{}: {} -> {}", key.path, a, b));
  }
  return out;
}

}  // namespace lockstep
