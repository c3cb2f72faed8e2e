// A long sequence of token ids: a text, a corpus, a set of shards. TokenDataset cuts it into
// samples.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

class TokenStream {
 public:
  virtual ~TokenStream() = default;

  virtual std::int64_t size() const = 0;
  /// Every token is in [0, vocab_size()).
  virtual std::int64_t vocab_size() const = 0;
  /// out[i] = token first + i. Thread-safe. Error kData naming file, position and value if a token
  /// is outside the vocabulary.
  virtual void read(std::int64_t first, std::span<std::int32_t> out) const = 0;
  /// The file that token `position` comes from; empty if none.
  virtual std::string source(std::int64_t position) const = 0;
  virtual std::string describe() const = 0;

  /// SHA-256 of the token ids as little-endian u16 (i32 if the vocabulary needs it), in order: the
  /// same text has the same digest whether it was tokenized in memory or read from shards.
  std::string digest() const;

 protected:
  void check_range(std::int64_t first, std::size_t count) const;
};

using TokenStreamPtr = std::shared_ptr<const TokenStream>;

/// Tokens held in memory.
class MemoryTokens final : public TokenStream {
 public:
  /// `name` is the source file of the tokens, or another name for messages. Error kData if a token
  /// is outside the vocabulary.
  MemoryTokens(std::string name, std::vector<std::int32_t> tokens, std::int64_t vocab_size);

  std::int64_t size() const override { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t vocab_size() const override { return vocab_size_; }
  void read(std::int64_t first, std::span<std::int32_t> out) const override;
  std::string source(std::int64_t) const override { return name_; }
  std::string describe() const override { return name_; }

 private:
  std::string name_;
  std::vector<std::int32_t> tokens_;
  std::int64_t vocab_size_;
};

/// Tokens [begin, end) of another stream.
class TokenSlice final : public TokenStream {
 public:
  /// Error kUsage if the range reaches outside of `whole`.
  TokenSlice(TokenStreamPtr whole, std::int64_t begin, std::int64_t end);

  std::int64_t size() const override { return end_ - begin_; }
  std::int64_t vocab_size() const override { return whole_->vocab_size(); }
  void read(std::int64_t first, std::span<std::int32_t> out) const override;
  std::string source(std::int64_t position) const override;
  std::string describe() const override;

 private:
  TokenStreamPtr whole_;
  std::int64_t begin_;
  std::int64_t end_;
};

}  // namespace lockstep
