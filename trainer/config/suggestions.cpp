#include "trainer/config/suggestions.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/suggest.h"

namespace lockstep {

std::string Suggestions::key(std::string_view section, std::string_view name) const {
  std::vector<std::string_view> siblings;
  for (const ConfigKey& key : schema_.keys()) {
    const bool is_alias = std::ranges::find(key.aliases, name) != key.aliases.end();
    if (key.section != section && (key.name == name || is_alias))
      return fmt::format("{}.{}", key.section, name);
    if (key.section != section || !may_be_chosen(key)) continue;
    siblings.push_back(key.name);
    siblings.insert(siblings.end(), key.aliases.begin(), key.aliases.end());
  }
  return std::string(nearest_word(name, siblings));
}

std::string Suggestions::section(std::string_view name) const {
  const std::string near = nearest_section(name);
  return near.empty() ? key("", name) : near;
}

std::string Suggestions::path(std::string_view section, std::string_view name) const {
  std::string near = nearest_section(section);
  if (near.empty()) return key("", name);
  std::string path = fmt::format("{}.{}", near, name);
  if (schema_.find(path) != nullptr) return path;
  const std::string found = key(near, name);
  if (found.empty()) return near;
  return schema_.resolve(found, config_).empty() ? fmt::format("{}.{}", near, found) : found;
}

bool Suggestions::may_be_chosen(const ConfigKey& key) const {
  if (key.row == nullptr) return true;
  const std::string& chosen = key.rows->chosen(const_cast<Config&>(config_));  // only read
  return chosen.empty() || chosen == key.row->name;
}

/// The section of a misspelled or shortened name ("train": "training"), or "".
std::string Suggestions::nearest_section(std::string_view name) const {
  const std::vector<std::string_view> sections = schema_.sections();
  if (const std::string_view near = nearest_word(name, sections); !near.empty())
    return std::string(near);
  constexpr std::size_t kShortest = 3;
  for (const std::string_view section : sections) {
    if (name.size() >= kShortest && section.starts_with(name)) return std::string(section);
  }
  return "";
}

}  // namespace lockstep
