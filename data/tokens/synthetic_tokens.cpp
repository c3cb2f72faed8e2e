#include "data/tokens/synthetic_tokens.h"

#include <limits>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace lockstep {

SyntheticTokens::SyntheticTokens(std::int64_t size, std::int64_t vocab_size, std::uint64_t seed)
    : size_(size), vocab_size_(vocab_size), seed_(seed) {
  LS_USER_CHECK(size >= 1, "synthetic tokens: the size must be at least 1, not {}", size);
  LS_USER_CHECK(vocab_size >= 1 && vocab_size <= std::numeric_limits<std::int32_t>::max(),
                "synthetic tokens: a vocabulary of {}", vocab_size);
}

void SyntheticTokens::read(std::int64_t first, std::span<std::int32_t> out) const {
  check_range(first, out.size());
  std::vector<std::uint32_t> words(out.size());
  random_bits(
      {.seed = seed_, .stream = rng_stream("synthetic_tokens"), .step = 0, .micro_batch = 0},
      static_cast<std::uint64_t>(first), words);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t scaled = words[i] * static_cast<std::uint64_t>(vocab_size_);
    out[i] = static_cast<std::int32_t>(scaled >> 32);
  }
}

std::string SyntheticTokens::describe() const {
  return fmt::format("synthetic tokens (vocabulary {}, seed {})", vocab_size_, seed_);
}

}  // namespace lockstep
