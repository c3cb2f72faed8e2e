// A stream of tokens in pieces of one length, each with special tokens around it, for masked
// language models.
#pragma once

#include "data/samples/dataset.h"
#include "data/tokenizers/tokenizer.h"
#include "data/tokens/token_stream.h"

namespace lockstep {

/// Sample i is {"tokens": i32 [T]}, stream[i*S .. i*S+N) between the T - N special tokens that
/// Tokenizer::with_special_tokens() adds. Tokens at the end that do not fill a sample are left out.
class ChunkDataset final : public Dataset {
 public:
  /// T = length; S = stride, 0 means N. Error kUsage if the special tokens leave no room, kData if
  /// the stream does not fill one sample.
  ChunkDataset(TokenStreamPtr stream, TokenizerPtr tokenizer, std::int64_t length,
               std::int64_t stride = 0);

  std::int64_t size() const override { return (stream_->size() - own_) / stride_ + 1; }
  std::vector<FieldSpec> fields() const override;
  Sample get(std::int64_t index) const override;
  std::string digest() const override { return stream_->digest(); }
  std::string describe() const override;
  std::string source(std::int64_t index) const override { return stream_->source(index * stride_); }

 private:
  TokenStreamPtr stream_;
  TokenizerPtr tokenizer_;
  std::int64_t length_;
  std::int64_t own_;  ///< N
  std::int64_t stride_;
};

}  // namespace lockstep
