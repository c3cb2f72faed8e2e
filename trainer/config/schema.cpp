#include "trainer/config/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/base/error.h"

namespace lockstep {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

std::string Range::to_string() const {
  std::string out;
  if (std::isfinite(min)) out = fmt::format("{} {:.15g}", min_open ? ">" : ">=", min);
  // The safety bounds would only be noise.
  if (std::isfinite(max) && max != kMaxSize && max != kMaxCount) {
    out += fmt::format("{}{} {:.15g}", out.empty() ? "" : " and ", max_open ? "<" : "<=", max);
  }
  return out;
}

std::string ConfigKey::type_text() const {
  const std::string noun = std::visit(
      Overloaded{
          [](Member<std::int64_t>) -> std::string { return "integer"; },
          [](Member<double>) -> std::string { return "number"; },
          [](Member<bool>) -> std::string { return "true or false"; },
          [](Member<std::string>) -> std::string { return "string"; },
          [](Member<std::vector<std::string>>) -> std::string {
            return "string or list of strings";
          },
          [](Member<std::vector<std::int64_t>>) -> std::string { return "list of integers"; },
          [](Member<std::array<double, 2>>) -> std::string { return "list of two numbers"; },
          [](Member<std::optional<IndexRange>>) -> std::string {
            return "list of two integers [begin, end]";
          },
          [](const EnumMember& e) { return fmt::format("one of {}", fmt::join(e.names, ", ")); },
      },
      member);
  const std::string bounds = range.to_string();
  return bounds.empty() ? noun : noun + " " + bounds;
}

const ConfigKey* find_config_key(std::string_view path) {
  for (const ConfigKey& key : config_keys()) {
    if (key.path == path) return &key;
  }
  return nullptr;
}

std::vector<std::string_view> config_sections() {
  std::vector<std::string_view> out;
  for (const ConfigKey& key : config_keys()) {
    if (out.empty() || out.back() != key.section()) out.push_back(key.section());
  }
  return out;
}

const Condition* unmet_condition(const ConfigKey& key, const Config& config) {
  if (key.when == nullptr) return nullptr;
  const ConfigKey* selector = find_config_key(key.when->key);
  LS_CHECK(selector != nullptr, "condition on unknown key {}", key.when->key);
  if (const Condition* outer = unmet_condition(*selector, config)) return outer;
  const auto& member = std::get<EnumMember>(selector->member);
  const std::string_view value = member.names[member.get(config)];
  for (std::string_view allowed : key.when->values) {
    if (value == allowed) return nullptr;
  }
  return key.when;
}

}  // namespace lockstep
