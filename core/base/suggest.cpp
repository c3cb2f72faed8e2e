#include "core/base/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace lockstep {

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<int> table((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> int& { return table[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substitution = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(a.size(), b.size());
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestWord = 64;  // beyond, it is not a typo, and the table would grow
  if (word.size() > kLongestWord) return "";
  int best = std::max(2, static_cast<int>(word.size() / 3)) + 1;
  std::string_view out;
  for (std::string_view candidate : candidates) {
    const int distance = edit_distance(word, candidate);
    // A word of two letters is two edits from any other: at least one letter must survive.
    if (distance < best && distance < static_cast<int>(std::max(word.size(), candidate.size()))) {
      best = distance;
      out = candidate;
    }
  }
  return out;
}

std::string did_you_mean(std::string_view x) {
  return x.empty() ? "" : fmt::format("; did you mean '{}'?", x);
}

}  // namespace lockstep
