// GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019): pre-norm
// transformer decoder, learned positions, tanh GELU, output tied to the token embedding. Parameter
// names, layouts and initialization are those of Hugging Face's gpt2 checkpoints.
#pragma once

#include "core/nn/layers.h"
#include "core/nn/norm.h"
#include "trainer/models/gpt2/gpt2_config.h"
#include "trainer/models/parts/text_model.h"
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
  Tensor logits(const TokenInputs& sequence) const;  ///< the same
  std::optional<CacheShape> cache_shape() const override { return cache_shape_; }
  Tensor next_logits(const Tensor& tokens, KeyValueCache& cache) const override;

 private:
  /// A layer's part of the cache; without one (null) the input is a whole sequence.
  struct Cached {
    KeyValueCache* cache;
    std::size_t layer;
  };
  // [B,T,C] -> [B,T,C]
  struct Attention : Module {
    Attention(Module& parent, const Config& config);
    Tensor operator()(const Tensor& x, const SequenceLayout& layout, const Cached& cached) const;

    std::int64_t n_head;
    double attn_dropout;
    Linear c_attn;
    Linear c_proj;
    Dropout dropout;
  };
  struct Mlp : Module {
    Mlp(Module& parent, const Config& config);
    Tensor operator()(const Tensor& x) const;

    Activation activation;
    Linear c_fc;
    Linear c_proj;
    Dropout dropout;
  };
  struct Block : Module {
    Block(Module& parent, std::string_view name, const Config& config);
    Tensor operator()(const Tensor& x, const SequenceLayout& layout,
                      const Cached& cached = {}) const;

    LayerNorm ln_1;
    Attention attn;
    LayerNorm ln_2;
    Mlp mlp;
  };

  CacheShape cache_shape_;
  std::int64_t n_positions_;
  bool gradient_checkpointing_;
  Embedding wte_;
  Embedding wpe_;
  Dropout drop_;
  ModuleList<Block> h_;
  LayerNorm ln_f_;
};

}  // namespace lockstep
