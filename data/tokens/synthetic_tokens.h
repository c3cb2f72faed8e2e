// Random tokens, for benchmarks and tests: token i is a pure function of (seed, i).
#pragma once

#include "data/tokens/token_stream.h"

namespace lockstep {

class SyntheticTokens final : public TokenStream {
 public:
  /// `size` tokens, uniform in [0, vocab_size).
  SyntheticTokens(std::int64_t size, std::int64_t vocab_size, std::uint64_t seed);

  std::int64_t size() const override { return size_; }
  std::int64_t vocab_size() const override { return vocab_size_; }
  void read(std::int64_t first, std::span<std::int32_t> out) const override;
  std::string source(std::int64_t) const override { return {}; }
  std::string describe() const override;

 private:
  std::int64_t size_;
  std::int64_t vocab_size_;
  std::uint64_t seed_;
};

}  // namespace lockstep
