// GPT-2, which continues text. Parameter names, layouts and initialization are those of Hugging
// Face's gpt2 checkpoints.
#pragma once

#include "trainer/models/gpt2/gpt2_decoder.h"
#include "trainer/task/model.h"

namespace lockstep {

class Gpt2 final : public Model {
 public:
  static constexpr std::string_view kName = "gpt2";
  static constexpr std::string_view kDoc = "GPT-2, a decoder that continues text";
  using Config = Gpt2Config;

  /// Error kUsage if neither config nor data give the size of the vocabulary, or the data's is
  /// larger.
  Gpt2(const Config& config, const DataFacts& data);
  Loss operator()(const Batch& batch) const override;
  Tensor logits(const Tensor& tokens) const override;
  std::optional<CacheShape> cache_shape() const override { return decoder_.cache_shape(); }
  Tensor next_logits(const Tensor& tokens, KeyValueCache& cache) const override {
    return decoder_.next_logits(tokens, cache);
  }

 private:
  Gpt2Decoder decoder_;
};

}  // namespace lockstep
