// GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019): pre-norm
// transformer decoder, learned positions, tanh GELU, output tied to the token embedding. Parameter
// names, layouts and initialization are those of Hugging Face's gpt2 checkpoints.
#pragma once

#include <vector>

#include "trainer/models/model.h"

namespace lockstep {

class Gpt2 final : public Model {
 public:
  Gpt2(const ModelConfig& config, std::int64_t vocab_size, Precision precision);
  ModelOutput forward(const TensorMap& batch, const Forward& mode) override;
  Tensor logits(const Tensor& tokens, const Forward& mode) override;

 private:
  struct Block {
    Block(ParameterSet& parameters, const ModelConfig& config, std::int64_t layer);
    Tensor operator()(const Tensor& x, const Forward& mode) const;
    Tensor attend(const Tensor& x, const Forward& mode) const;

    std::string path;
    std::int64_t n_head;
    double dropout;
    LayerNorm ln_1;
    Linear c_attn;
    Linear attn_proj;
    LayerNorm ln_2;
    Linear c_fc;
    Linear mlp_proj;
  };

  std::int64_t block_size_;
  double dropout_;
  Embedding wte_;
  Embedding wpe_;
  std::vector<Block> blocks_;
  LayerNorm ln_f_;
};

}  // namespace lockstep
