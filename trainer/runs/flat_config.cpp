#include "trainer/runs/flat_config.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "trainer/config/yaml_tree.h"

namespace lockstep {
namespace {

std::string flat_text(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return "";
    case YamlNode::Kind::kScalar: return node.text;
    case YamlNode::Kind::kList: {
      std::vector<std::string> items;
      items.reserve(node.items.size());
      for (const YamlNode& item : node.items) items.push_back(flat_text(item));
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    case YamlNode::Kind::kMap: return "";
  }
  __builtin_unreachable();
}

void add_flat(const YamlNode& node, const std::string& path, FlatConfig& to) {
  if (node.kind != YamlNode::Kind::kMap) {
    to[path] = flat_text(node);
    return;
  }
  for (const YamlEntry& entry : node.entries)
    add_flat(entry.value, path.empty() ? entry.key : path + "." + entry.key, to);
}

}  // namespace

FlatConfig flat_config(std::string_view yaml) {
  std::vector<YamlIssue> issues;
  FlatConfig out;
  add_flat(parse_yaml(yaml, issues), "", out);
  return out;
}

std::vector<DifferingKey> differing_keys(const std::vector<const FlatConfig*>& configs) {
  std::map<std::string_view, std::size_t> keys;
  for (const FlatConfig* config : configs)
    for (const auto& [key, value] : *config) ++keys[key];
  std::vector<DifferingKey> out;
  for (const auto& [key, count] : keys) {
    if (key == "run.name" || key == "run.dir") continue;
    DifferingKey row{.key = std::string(key), .values = {}};
    for (const FlatConfig* config : configs) {
      const auto found = config->find(key);
      row.values.push_back(found == config->end() ? std::nullopt : std::optional(found->second));
    }
    const auto is_first = [&](const auto& value) { return value == row.values.front(); };
    if (!std::ranges::all_of(row.values, is_first)) out.push_back(std::move(row));
  }
  return out;
}

}  // namespace lockstep
