#include "trainer/config/group_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/suggest.h"
#include "core/nn/module.h"
#include "trainer/config/schema.h"
#include "trainer/config/values.h"

namespace lockstep {
namespace {

using NodeKind = YamlNode::Kind;

/// The text of a scalar or of a list of scalars; nothing for anything else.
std::optional<std::string> flow_text(const YamlNode& node) {
  if (node.kind == NodeKind::kScalar) return node.text;
  if (node.kind != NodeKind::kList) return std::nullopt;
  std::vector<std::string> items;
  for (const YamlNode& item : node.items) {
    if (item.kind != NodeKind::kScalar) return std::nullopt;
    items.push_back(item.text);
  }
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::optional<std::string> read_patterns(const YamlNode& node, std::vector<std::string>& out) {
  const bool is_list = node.kind == NodeKind::kList;
  for (const YamlNode& item : is_list ? std::span(node.items) : std::span(&node, 1)) {
    if (item.kind != NodeKind::kScalar || item.text.empty())
      return fmt::format("needs patterns of names as its 'match', not {}", item.describe());
    out.push_back(item.text);
  }
  if (out.empty()) return "needs patterns of names as its 'match', not an empty list";
  return std::nullopt;
}

std::optional<std::string> read_group(const YamlNode& node, ParameterGroup& out) {
  if (node.kind != NodeKind::kMap)
    return fmt::format("must be {{match: PATTERNS, KEY: VALUE}}, not {}", node.describe());
  for (const auto& [key, line, column, value] : node.entries) {
    if (key == "match") {
      if (auto problem = read_patterns(value, out.match)) return problem;
      continue;
    }
    std::optional<std::string> text = flow_text(value);
    if (!text) return fmt::format("has {} as its '{}'", value.describe(), key);
    out.settings.emplace_back(key, std::move(*text));
  }
  if (out.match.empty()) return "has no 'match': the patterns of its parameters' names";
  if (out.settings.empty()) return "sets nothing: give it keys of the optimizer besides 'match'";
  return std::nullopt;
}

/// The value of a setting as YAML: numbers and lists as they are.
std::string setting_text(const std::string& text) {
  const bool is_number = text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  return text.starts_with('[') || is_number || text == "true" || text == "false"
             ? text
             : string_text(text);
}

std::string patterns_text(const std::vector<std::string>& patterns) {
  std::vector<std::string> texts;
  texts.reserve(patterns.size());
  for (const std::string& pattern : patterns) texts.push_back(string_text(pattern));
  return texts.size() == 1 ? texts[0] : fmt::format("[{}]", fmt::join(texts, ", "));
}

/// The config with the group's settings in place of the optimizer's, or what is wrong with them.
struct GroupConfig {
  Config config;
  std::string problem = {};
};

GroupConfig with_settings(const Config& config, const ParameterGroup& group, const Schema& schema) {
  GroupConfig out{config};
  std::vector<std::string_view> known;
  for (const ConfigKey& key : schema.keys())
    if (key.row != nullptr && key.row->name == config.optimizer.name && key.section == "optimizer")
      known.push_back(key.name);
  for (const auto& [name, text] : group.settings) {
    const ConfigKey* key = schema.find("optimizer." + name, config);
    if (key == nullptr || key->row == nullptr) {
      out.problem = fmt::format("'{}' is no key of the optimizer {} that a group can have{}", name,
                                config.optimizer.name, did_you_mean(nearest_word(name, known)));
      return out;
    }
    if (auto problem = set_value(*key, text, out.config)) {
      out.problem = std::move(*problem);
      return out;
    }
  }
  return out;
}

std::string patterns_of(const ParameterGroup& group) {
  return fmt::format("{}", fmt::join(group.match, ", "));
}

}  // namespace

std::optional<std::string> read_groups(const YamlNode& node, std::vector<ParameterGroup>& out) {
  if (node.kind != NodeKind::kList)
    return fmt::format("must be a list of groups {{match: PATTERNS, KEY: VALUE}}, not {}",
                       node.describe());
  for (const YamlNode& item : node.items)
    if (auto problem = read_group(item, out.emplace_back()))
      return fmt::format("is a list of groups, but group {} in it {}", out.size(), *problem);
  return std::nullopt;
}

std::string groups_text(const std::vector<ParameterGroup>& groups) {
  std::vector<std::string> texts;
  for (const ParameterGroup& group : groups) {
    std::string text = "{match: " + patterns_text(group.match);
    for (const auto& [key, value] : group.settings)
      text += fmt::format(", {}: {}", key, setting_text(value));
    texts.push_back(text + "}");
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

void check_groups(const Config& config, const Registry& registry, const ReportProblem& report) {
  const Schema schema(registry);
  for (std::size_t i = 0; i < config.optimizer.groups.size(); ++i) {
    std::string problem = with_settings(config, config.optimizer.groups[i], schema).problem;
    if (!problem.empty())
      report({"optimizer.groups", "optimizer.name"},
             fmt::format("'optimizer.groups', group {}: {}", i + 1, problem));
  }
}

OptimizerGroups make_groups(const Config& config, const Registry& registry, Module& module) {
  OptimizerGroups out;
  if (config.optimizer.groups.empty()) return out;
  const Schema schema(registry);
  module.set_group("");  // a model's own groups have no settings here
  for (const ParameterGroup& group : config.optimizer.groups) {
    const std::string name = patterns_of(group);
    const std::string setting = "'optimizer.groups'";
    module.set_group(name, group.match, setting);
    LS_USER_CHECK(
        std::ranges::any_of(module.parameters().all(),
                            [&](const Parameter& p) { return p.trainable && p.group == name; }),
        "{}: no trained parameter is left for '{}': the groups before it have all that "
        "match, or they are frozen",
        setting, name);
    const GroupConfig own = with_settings(config, group, schema);
    LS_USER_CHECK(own.problem.empty(), "{}, '{}': {}", setting, name, own.problem);
    out.emplace(name, registry.make_optimizer(own.config.optimizer));
  }
  return out;
}

}  // namespace lockstep
