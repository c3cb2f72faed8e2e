// Language-model samples from a stream of tokens: windows of block_size tokens, and the same window
// shifted by one as targets.
#pragma once

#include "data/samples/dataset.h"
#include "data/tokens/token_stream.h"

namespace lockstep {

/// Sample i is {"tokens": stream[i*S .. i*S+T), "targets": stream[i*S+1 .. i*S+T+1)}, both i32 [T],
/// with T = block_size and S = stride. There are (n - 1 - T) / S + 1 of them.
///
/// stride = T (the default) uses every token once per epoch; stride = 1 makes every offset a
/// sample, which together with shuffling is like nanoGPT's random crops.
class TokenDataset final : public Dataset {
 public:
  /// Error kData naming the stream, its length and the length needed if it has fewer than T + 1
  /// tokens.
  TokenDataset(TokenStreamPtr stream, std::int64_t block_size, std::int64_t stride);
  TokenDataset(TokenStreamPtr stream, std::int64_t block_size)
      : TokenDataset(std::move(stream), block_size, block_size) {}

  std::int64_t size() const override;
  std::vector<FieldSpec> fields() const override;
  Sample get(std::int64_t index) const override;
  std::string digest() const override { return stream_->digest(); }
  std::string describe() const override;
  std::string source(std::int64_t index) const override { return stream_->source(index * stride_); }

 private:
  TokenStreamPtr stream_;
  std::int64_t block_size_;
  std::int64_t stride_;
};

}  // namespace lockstep
