#include "data/tokens/token_stream.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "data/samples/digest.h"

namespace lockstep {

void TokenStream::check_range(std::int64_t first, std::size_t count) const {
  LS_CHECK(first >= 0 && first + static_cast<std::int64_t>(count) <= size(),
           "tokens [{}, {}) of {} were requested", first, first + static_cast<std::int64_t>(count),
           size());
}

std::string TokenStream::digest() const {
  constexpr std::int64_t kChunk = 1 << 16;
  Sha256 hash;
  std::vector<std::int32_t> tokens;
  std::vector<std::uint16_t> narrow;
  for (std::int64_t first = 0; first < size(); first += kChunk) {
    tokens.resize(static_cast<std::size_t>(std::min(kChunk, size() - first)));
    read(first, tokens);
    if (vocab_size() <= 65536) {
      narrow.assign(tokens.begin(), tokens.end());
      hash.update(narrow.data(), narrow.size() * sizeof narrow[0]);
    } else {
      hash.update(tokens.data(), tokens.size() * sizeof tokens[0]);
    }
  }
  return finish_hex(hash);
}

MemoryTokens::MemoryTokens(std::string name, std::vector<std::int32_t> tokens,
                           std::int64_t vocab_size)
    : name_(std::move(name)), tokens_(std::move(tokens)), vocab_size_(vocab_size) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i] < 0 || tokens_[i] >= vocab_size) {
      raise(ErrorKind::kData, "{}: token {} at position {} is outside the vocabulary of {}", name_,
            tokens_[i], i, vocab_size);
    }
  }
}

void MemoryTokens::read(std::int64_t first, std::span<std::int32_t> out) const {
  check_range(first, out.size());
  std::copy_n(tokens_.begin() + first, out.size(), out.begin());
}

TokenSlice::TokenSlice(TokenStreamPtr whole, std::int64_t begin, std::int64_t end)
    : whole_(std::move(whole)), begin_(begin), end_(end) {
  LS_USER_CHECK(begin >= 0 && begin <= end && end <= whole_->size(),
                "the range [{}, {}) is not a part of the {} tokens of {}", begin, end,
                whole_->size(), whole_->describe());
}

void TokenSlice::read(std::int64_t first, std::span<std::int32_t> out) const {
  check_range(first, out.size());
  whole_->read(begin_ + first, out);
}

std::string TokenSlice::source(std::int64_t position) const {
  return whole_->source(begin_ + position);
}

std::string TokenSlice::describe() const {
  return fmt::format("{} (tokens {} to {})", whole_->describe(), begin_, end_);
}

}  // namespace lockstep
