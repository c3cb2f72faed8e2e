#include "trainer/hub/hub_format.h"

#include <optional>
#include <string_view>

namespace lockstep {
namespace {

/// What the '*' of a pattern stands for in a name; nothing if they do not match.
std::optional<std::string> matched_part(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos)
    return name == pattern ? std::optional<std::string>("") : std::nullopt;
  const std::string_view begin = pattern.substr(0, star);
  const std::string_view end = pattern.substr(star + 1);
  if (name.size() < begin.size() + end.size() || !name.starts_with(begin) || !name.ends_with(end))
    return std::nullopt;
  return std::string(name.substr(begin.size(), name.size() - begin.size() - end.size()));
}

}  // namespace

std::string renamed(const std::string& name, const HubRename& rule) {
  const std::optional<std::string> part = matched_part(name, rule.from);
  if (!part) return name;
  std::string out = rule.to;
  if (const std::size_t star = out.find('*'); star != std::string::npos)
    out.replace(star, 1, *part);
  return out;
}

std::string renamed(std::string name, const std::vector<HubRename>& rules) {
  for (const HubRename& rule : rules) name = renamed(name, rule);
  return name;
}

bool matches(const std::string& name, const std::string& pattern) {
  return matched_part(name, pattern).has_value();
}

}  // namespace lockstep
