// The decoder of GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners",
// 2019): pre-norm transformer, learned positions, tanh GELU, output tied to the token embedding;
// with cross-attention it also sees another sequence, its memory. Parameter names, layouts and
// initialization are those of Hugging Face's GPT2Model.
#pragma once

#include <memory>

#include "core/nn/layers.h"
#include "core/nn/norm.h"
#include "trainer/models/gpt2/gpt2_config.h"
#include "trainer/models/parts/text_model.h"

namespace lockstep {

class Gpt2Decoder {
 public:
  using Config = Gpt2Config;

  /// Declares its modules in `owner`, which must outlive it. Error kUsage if n_head does not divide
  /// n_embd. `section`: of the config, as messages name its keys.
  Gpt2Decoder(Module& owner, const Config& config, std::int64_t vocab_size,
              bool cross_attention = false, std::string_view section = "model");

  /// Logits [B,T,V]. `memory` [B,S,n_embd]: what cross-attention sees; undefined without it. Error
  /// kUsage for a sequence longer than n_positions.
  Tensor logits(const TokenInputs& sequence, const Tensor& memory = {}) const;

  CacheShape cache_shape() const { return cache_shape_; }
  /// Stores the keys and values of `memory` for cross-attention in the cache.
  void remember(const Tensor& memory, KeyValueCache& cache) const;
  /// As Model::next_logits().
  Tensor next_logits(const Tensor& tokens, KeyValueCache& cache) const;

 private:
  /// What a block sees besides its input: of a whole sequence its layout and the memory, of the
  /// current tokens a layer's part of the cache.
  struct Seen {
    const SequenceLayout& layout;
    Tensor memory = {};
    KeyValueCache* cache = nullptr;
    std::size_t layer = 0;
  };
  // [B,T,C] -> [B,T,C]
  struct Attention : Module {
    Attention(Module& parent, const Config& config);
    Tensor operator()(const Tensor& x, const Seen& seen) const;

    std::int64_t n_head;
    double attn_dropout;
    Linear c_attn;
    Linear c_proj;
    Dropout dropout;
  };
  struct CrossAttention : Module {
    CrossAttention(Module& parent, const Config& config);
    Tensor operator()(const Tensor& x, const Seen& seen) const;
    /// Keys and values [B,S,H,D] of the memory [B,S,C].
    KeyValueCache::Layer keys_and_values(const Tensor& memory) const;

    std::int64_t n_head;
    double attn_dropout;
    Linear c_attn;
    Linear q_attn;
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
    Block(Module& parent, std::string_view name, const Config& config, bool cross_attention);
    Tensor operator()(const Tensor& x, const Seen& seen) const;

    /// A second attention, to the memory, after the first.
    struct Cross {
      Cross(Module& parent, const Config& config);

      LayerNorm norm;
      CrossAttention attention;
    };

    LayerNorm ln_1;
    Attention attn;
    std::unique_ptr<Cross> cross;  ///< null: none
    LayerNorm ln_2;
    Mlp mlp;
  };

  CacheShape cache_shape_;
  std::int64_t n_positions_;
  std::string section_;
  bool gradient_checkpointing_;
  Embedding wte_;
  Embedding wpe_;
  Dropout drop_;
  ModuleList<Block> h_;
  LayerNorm ln_f_;
};

}  // namespace lockstep
