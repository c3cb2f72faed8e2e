// Pairs of texts that are longer than a sequence may be.
#pragma once

#include <cstddef>

namespace lockstep {

/// Numbers of tokens of the two texts.
struct PairLengths {
  std::size_t first = 0;
  std::size_t second = 0;
  friend bool operator==(const PairLengths&, const PairLengths&) = default;
};

/// How many tokens of each text are kept so that both together have at most `limit`: only the
/// longer one is cut while it stays the longer one; if both must be cut, each keeps half, and the
/// odd token is the longer text's (of texts of equal length the second's). This is the strategy
/// longest_first of huggingface/tokenizers 0.23.2 (tokenizers/src/utils/truncation.rs).
PairLengths longest_first(const PairLengths& lengths, std::size_t limit);

}  // namespace lockstep
