#include "data/tokens/text_pairs.h"

#include <algorithm>

namespace lockstep {

PairLengths longest_first(const PairLengths& lengths, std::size_t limit) {
  const auto [first, second] = lengths;
  if (first + second <= limit) return lengths;
  const bool is_first_shorter = first <= second;
  std::size_t shorter = std::min(first, second);
  std::size_t longer = limit - std::min(shorter, limit);
  if (longer < shorter) {
    shorter = limit / 2;
    longer = limit - shorter;
  }
  if (is_first_shorter) return {shorter, longer};
  return {longer, shorter};
}

}  // namespace lockstep
