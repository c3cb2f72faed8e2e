#include "trainer/config/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "core/base/error.h"
#include "trainer/config/fixed_keys.h"

namespace lockstep {
namespace {

template <class Rows>
std::vector<const Row*> pointers(const Rows& rows) {
  std::vector<const Row*> out;
  for (const Row& row : rows) out.push_back(&row);
  return out;
}

constexpr std::array<RowSection, 3> kRowSections = {{
    {.name = "model",
     .selector = "model.name",
     .what = "model",
     .chosen = [](Config& c) -> std::string& { return c.model.name; },
     .keys = [](Config& c) -> OwnConfig& { return c.model.keys; },
     .rows = [](const Registry& registry) { return pointers(registry.models()); }},
    {.name = "data",
     .selector = "data.type",
     .what = "dataset",
     .chosen = [](Config& c) -> std::string& { return c.data.type; },
     .keys = [](Config& c) -> OwnConfig& { return c.data.keys; },
     .rows = [](const Registry& registry) { return pointers(registry.datasets()); }},
    {.name = "optimizer",
     .selector = "optimizer.name",
     .what = "optimizer",
     .chosen = [](Config& c) -> std::string& { return c.optimizer.name; },
     .keys = [](Config& c) -> OwnConfig& { return c.optimizer.keys; },
     .rows = [](const Registry& registry) { return pointers(registry.optimizers()); }},
}};

/// The selector's names are the registry's rows, and its documentation says what each is.
void complete_selector(ConfigKey& key, const RowSection& section, const Registry& registry) {
  auto& choice = std::get<ChoiceMember>(key.member);
  key.doc += ":";
  for (const Row* row : section.rows(registry)) {
    key.doc += fmt::format("{} {} ({})", choice.names.empty() ? "" : ",", row->name, row->doc);
    choice.names.push_back(row->name);
  }
  key.doc += ".";
}

/// The value of an enum or a choice in the config.
std::string_view chosen_value(const ConfigKey& selector, const Config& config) {
  const void* object = selector.object_in(config);
  if (const auto* choice = std::get_if<ChoiceMember>(&selector.member))
    return choice->member(const_cast<void*>(object));  // only read
  const auto& member = std::get<EnumMember>(selector.member);
  return member.names[member.get(object)];
}

RowConditions row_conditions(const Registry& registry) {
  const Condition of_models{"model.name", {}};
  RowConditions out{.takes_tokens = of_models,
                    .generates_text = of_models,
                    .masks = of_models,
                    .captions = of_models,
                    .varies = {"data.type", {}}};
  constexpr std::array<std::string_view, 5> kOfTokens = {"", "tokens", "masked_tokens",
                                                         "labelled_tokens", "captioned_images"};
  for (const ModelRow& model : registry.models()) {
    const bool generates =
        model.inputs.empty() || model.inputs == "tokens" || model.inputs == "captioned_images";
    if (generates) out.generates_text.values.push_back(model.name);
    if (model.inputs == "masked_tokens") out.masks.values.push_back(model.name);
    if (model.inputs == "captioned_images") out.captions.values.push_back(model.name);
    if (std::ranges::find(kOfTokens, model.inputs) != kOfTokens.end())
      out.takes_tokens.values.push_back(model.name);
  }
  for (const DatasetRow& data : registry.datasets())
    if (data.varies) out.varies.values.push_back(data.name);
  return out;
}

}  // namespace

std::span<const RowSection> row_sections() {
  return kRowSections;
}

const RowSection* find_row_section(std::string_view section) {
  const auto* found =
      std::ranges::find_if(kRowSections, [&](const auto& s) { return s.name == section; });
  return found == kRowSections.end() ? nullptr : found;
}

void* ConfigKey::object_in(Config& config) const {
  if (row == nullptr) return fixed_object(config);
  LS_CHECK(rows->chosen(config) == row->name, "{} of {} in a config of {}", path, row->name,
           rows->chosen(config));
  OwnConfig& own = rows->keys(config);
  if (own.empty()) own = row->defaults;
  return part_of(own.object());
}

const void* ConfigKey::object_in(const Config& config) const {
  // Needs a mutable Config, but changes nothing: an empty struct stays empty.
  auto& reached = const_cast<Config&>(config);
  if (row != nullptr && rows->keys(reached).empty()) return default_object(reached);
  return object_in(reached);
}

void* ConfigKey::default_object(Config& fresh) const {
  return row == nullptr ? fixed_object(fresh) : part_of(row->defaults.object());
}

Schema::Schema(const Registry& registry) : registry_(registry) {
  for (KeyGroup& group : fixed_keys(row_conditions(registry))) {
    for (Key& key : group.keys) {
      const std::string path = fmt::format("{}.{}", group.section, key.name);
      keys_.push_back({std::move(key), std::string(group.section), path, group.when, group.object});
      const RowSection* section = find_row_section(group.section);
      if (section == nullptr || path != section->selector) continue;
      complete_selector(keys_.back(), *section, registry);
      add_rows(*section);
    }
  }
  std::map<std::string_view, std::vector<const ConfigKey*>> by_path;
  for (const ConfigKey& key : keys_) by_path[key.path].push_back(&key);
  for (const auto& [path, keys] : by_path)
    for (const ConfigKey* key : keys) refuse_second(*key, keys);
}

void Schema::refuse_second(const ConfigKey& key, std::span<const ConfigKey* const> alike) {
  if (key.row == nullptr) return;
  for (const ConfigKey* at : alike) {
    const ConfigKey& other = *at;
    if (&other == &key) continue;
    LS_USER_CHECK(other.row != nullptr,
                  "{} '{}' has a key '{}', which section '{}' has for all: choose another name",
                  key.rows->what, key.row->name, key.name, key.section);
    LS_USER_CHECK(other.row != key.row, "{} '{}' has two keys '{}'", key.rows->what, key.row->name,
                  key.name);
  }
}

void Schema::add_rows(const RowSection& section) {
  for (const Row* row : section.rows(registry_))
    for (const Key& key : row->keys)
      keys_.push_back({key, std::string(section.name), fmt::format("{}.{}", section.name, key.name),
                       Condition{std::string(section.selector), {row->name}}, nullptr, &section,
                       row});
}

std::vector<std::string_view> Schema::sections() const {
  std::vector<std::string_view> out;
  for (const ConfigKey& key : keys_) {
    if (out.empty() || out.back() != key.section) out.push_back(key.section);
  }
  return out;
}

bool Schema::has_section(std::string_view name) const {
  return std::ranges::any_of(keys_, [&](const ConfigKey& key) { return key.section == name; });
}

bool Schema::has_subsection(std::string_view path) const {
  const std::string prefix = fmt::format("{}.", path);
  return std::ranges::any_of(keys_,
                             [&](const ConfigKey& key) { return key.path.starts_with(prefix); });
}

const ConfigKey* Schema::find(std::string_view path) const {
  const auto found = std::ranges::find(keys_, path, &ConfigKey::path);
  return found == keys_.end() ? nullptr : &*found;
}

const ConfigKey* Schema::find(std::string_view path, const Config& config) const {
  for (const ConfigKey& key : keys_) {
    if (key.path != path) continue;
    if (key.row == nullptr || key.rows->chosen(const_cast<Config&>(config)) == key.row->name)
      return &key;
  }
  return nullptr;
}

std::vector<std::string> Schema::resolve(const std::string& path, const Config& config) const {
  if (find(path, config) != nullptr) return {path};
  std::vector<std::string> chosen, others;
  for (const ConfigKey& key : keys_)
    for (const std::string& alias : key.aliases) {
      if (fmt::format("{}.{}", key.section, alias) != path) continue;
      auto& to = find(key.path, config) == &key ? chosen : others;
      if (std::ranges::find(to, key.path) == to.end()) to.push_back(key.path);
    }
  if (!chosen.empty()) return chosen;
  return find(path) != nullptr ? std::vector{path} : others;
}

const Condition* Schema::unmet(const ConfigKey& key, const Config& config) const {
  if (!key.when) return nullptr;
  const ConfigKey* selector = find(key.when->key);
  LS_CHECK(selector != nullptr, "condition on unknown key {}", key.when->key);
  if (const Condition* outer = unmet(*selector, config)) return outer;
  const std::string_view value = chosen_value(*selector, config);
  const bool met = std::ranges::find(key.when->values, value) != key.when->values.end();
  return met ? nullptr : &*key.when;
}

}  // namespace lockstep
