#include "core/base/name_pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

/// The parts of a pattern: '*', or what stands for one character.
std::vector<std::string> parts_of(std::string_view pattern) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pattern.size();) {
    std::size_t end = i + 1;
    if (pattern[i] == '[') {
      // A ']' directly behind the '[', or behind "[!", is one of the set.
      const std::size_t first = i + (pattern.substr(i + 1).starts_with('!') ? 3 : 2);
      const std::size_t close = pattern.find(']', first);
      if (close != std::string_view::npos) end = close + 1;
    }
    out.emplace_back(pattern.substr(i, end - i));
    i = end;
  }
  return out;
}

}  // namespace

bool matches(const std::string& name, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

int pattern_distance(std::string_view name, std::string_view pattern) {
  // The distances of the pattern's parts so far from each beginning of the name.
  std::vector<int> row(name.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const std::string& part : parts_of(pattern)) {
    const bool star = part == "*";
    int diagonal = row[0];
    row[0] += star ? 0 : 1;
    for (std::size_t j = 1; j < row.size(); ++j) {
      const int above = row[j];
      const bool same = !star && matches(std::string(1, name[j - 1]), part);
      row[j] = star ? std::min(above, row[j - 1])
                    : std::min({above + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

std::string nearest_names(std::string_view pattern, std::span<const std::string_view> names) {
  if (names.empty()) return "";
  constexpr std::size_t kNamed = 3;
  constexpr std::size_t kLongest = 200;  // of a pattern: a longer one is no typo
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  if (pattern.size() <= kLongest) {
    std::vector<int> distances;
    distances.reserve(names.size());
    for (const std::string_view name : names) distances.push_back(pattern_distance(name, pattern));
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return distances[i]; });
  }
  order.resize(std::min(order.size(), kNamed));
  std::ranges::sort(order);
  std::vector<std::string> quoted;
  quoted.reserve(order.size());
  for (const std::size_t i : order) quoted.push_back(fmt::format("'{}'", names[i]));
  if (quoted.size() == 1) return fmt::format("; the nearest is {}", quoted[0]);
  const std::string last = quoted.back();
  quoted.pop_back();
  return fmt::format("; the nearest are {} and {}", fmt::join(quoted, ", "), last);
}

}  // namespace lockstep
