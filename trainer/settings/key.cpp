#include "trainer/settings/key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

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

std::string Key::type_text() const {
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
          [](Member<std::vector<double>>) -> std::string { return "number or list of numbers"; },
          [](Member<std::array<double, 2>>) -> std::string { return "list of two numbers"; },
          [](Member<std::optional<IndexRange>>) -> std::string {
            return "list of two integers [begin, end]";
          },
          [](Member<std::vector<LengthShare>>) -> std::string {
            return "list of [minimum, maximum, probability], with lengths";
          },
          [](Member<std::vector<ParameterGroup>>) -> std::string {
            return "list of groups {match: PATTERNS, KEY: VALUE}";
          },
          [](const EnumMember& e) { return fmt::format("one of {}", fmt::join(e.names, ", ")); },
          [](const ChoiceMember& c) { return fmt::format("one of {}", fmt::join(c.names, ", ")); },
      },
      member);
  const std::string bounds = range.to_string();
  return noun + (bounds.empty() ? "" : " " + bounds) +
         (empty_word.empty() ? "" : ", or " + empty_word);
}

}  // namespace lockstep
