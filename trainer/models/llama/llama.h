// Llama (Touvron et al., arXiv:2302.13971; Llama 3: arXiv:2407.21783): pre-norm transformer decoder
// with RMSNorm, rotary positions, SwiGLU and grouped key/value heads. Parameter names, layouts and
// initialization are those of Hugging Face's LlamaForCausalLM.
#pragma once

#include <memory>

#include "core/nn/norm.h"
#include "core/nn/transformer.h"
#include "trainer/models/llama/llama_config.h"
#include "trainer/models/parts/text_model.h"
#include "trainer/task/model.h"

namespace lockstep {

class Llama final : public Model {
 public:
  static constexpr std::string_view kName = "llama";
  static constexpr std::string_view kDoc = "Llama, a decoder that continues text";
  using Config = LlamaConfig;

  /// Error kUsage if neither config nor data give the size of the vocabulary, or the data's is
  /// larger.
  Llama(const Config& config, const DataFacts& data);
  Loss operator()(const Batch& batch) const override;
  Tensor logits(const Tensor& tokens) const override;
  Tensor logits(const TokenInputs& sequence) const;  ///< the same
  std::optional<CacheShape> cache_shape() const override { return cache_shape_; }
  Tensor next_logits(const Tensor& tokens, KeyValueCache& cache) const override;

 private:
  struct Block : Module {
    Block(Module& parent, std::string_view name, const Config& config);
    Tensor operator()(const Tensor& x, const SequenceLayout& layout) const;  ///< [B,T,C]
    Tensor next(const Tensor& x, KeyValueCache& cache, std::size_t layer) const;

    RMSNorm input_layernorm;
    MultiHeadAttention self_attn;
    RMSNorm post_attention_layernorm;
    GatedMlp mlp;
  };
  /// Tokens to normalized hidden states [B,T,C].
  struct Body : Module {
    Body(Module& parent, const Config& config, const DataFacts& data);
    Tensor operator()(const TokenInputs& sequence) const;
    Tensor next(const Tensor& tokens, KeyValueCache& cache) const;

    std::int64_t max_positions;
    bool gradient_checkpointing;
    Embedding embed_tokens;
    ModuleList<Block> layers;
    RMSNorm norm;
  };

  /// x [..., C] -> [..., V]
  Tensor head(const Tensor& x) const;

  CacheShape cache_shape_;
  Body model_;
  std::unique_ptr<Linear> lm_head_;  ///< null if it is tied to the token embedding
};

}  // namespace lockstep
