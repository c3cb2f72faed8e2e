#include "trainer/hub/hub_format.h"

#include <optional>
#include <string_view>

#include "core/base/json_place.h"

namespace lockstep {
namespace {

/// The text that the '*' of a pattern stands for in a name; nothing if they do not match.
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

std::vector<HubValue> hub_list(const HubValues& values, const std::string& key, std::size_t size) {
  const auto found = values.find(key);
  if (found == values.end() || found->second == "null") return {};
  const auto& [json, place] = found->second;
  const JsonPlace value =
      JsonPlace::parse(json, JsonSource{.name = place, .kind = ErrorKind::kUsage, .line = 0});
  std::vector<HubValue> out;
  if (value.is_list())
    for (const JsonPlace& one : value.elements()) out.emplace_back(one.dump(), place);
  if (out.empty() || (size != 0 && out.size() != size))
    value.refuse(fmt::format(
        "'{}' must be a list of {}, not {}", key, size == 0 ? "one or more" : std::to_string(size),
        value.is_list() ? fmt::format("of {}", out.size()) : value.describe()));
  return out;
}

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

}  // namespace lockstep
