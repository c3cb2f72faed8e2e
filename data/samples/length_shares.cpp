#include "data/samples/length_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep {

std::string problem_of(std::span<const LengthShare> shares) {
  constexpr double kRounding = 1e-6;
  double sum = 0;
  for (const auto& [min, max, probability] : shares) {
    if (min < 1) return fmt::format("must be at least 1, not {}", min);
    if (min > max)
      return fmt::format("must have a minimum before a maximum, not [{}, {}]", min, max);
    if (!(probability > 0 && probability <= 1))
      return fmt::format("must have probabilities > 0 and <= 1, not {}", probability);
    sum += probability;
  }
  if (std::abs(sum - 1) > kRounding)
    return fmt::format("must have probabilities with a sum of 1, not {:.6g}", sum);
  return "";
}

std::int64_t drawn_length(std::span<const LengthShare> shares,
                          std::span<const std::uint32_t, 2> words) {
  double rest = static_cast<double>(words[0]) * 0x1.0p-32;
  std::size_t chosen = 0;  // a sum just below 1 leaves the last one
  while (chosen + 1 < shares.size() && rest >= shares[chosen].probability)
    rest -= shares[chosen++].probability;
  const auto& [min, max, probability] = shares[chosen];
  const auto count = static_cast<std::uint64_t>(max - min + 1);
  return min + static_cast<std::int64_t>(words[1] * count >> 32);
}

std::int64_t longest_of(std::span<const LengthShare> shares) {
  std::int64_t out = 0;
  for (const LengthShare& share : shares) out = std::max(out, share.max);
  return out;
}

}  // namespace lockstep
