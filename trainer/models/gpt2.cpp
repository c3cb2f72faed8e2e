#include "trainer/models/gpt2.h"

#include <cmath>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr double kInitStddev = 0.02;

/// GPT-2's Conv1D: weight [in, out]. Projections back into the residual stream start smaller, by
/// the square root of the number of residual layers.
Linear::Options conv1d(double stddev) {
  return {.bias = true,
          .transposed = false,
          .weight_init = Initializer::normal(stddev),
          .bias_init = Initializer::constant(0.0)};
}

double residual_stddev(const ModelConfig& config) {
  return kInitStddev / std::sqrt(2.0 * static_cast<double>(config.n_layer));
}

}  // namespace

Gpt2::Block::Block(ParameterSet& parameters, const ModelConfig& config, std::int64_t layer)
    : path(fmt::format("h.{}", layer)),
      n_head(config.n_head),
      dropout(config.dropout),
      ln_1(parameters, path + ".ln_1", config.n_embd),
      c_attn(parameters, path + ".attn.c_attn", config.n_embd, 3 * config.n_embd,
             conv1d(kInitStddev)),
      attn_proj(parameters, path + ".attn.c_proj", config.n_embd, config.n_embd,
                conv1d(residual_stddev(config))),
      ln_2(parameters, path + ".ln_2", config.n_embd),
      c_fc(parameters, path + ".mlp.c_fc", config.n_embd, 4 * config.n_embd, conv1d(kInitStddev)),
      mlp_proj(parameters, path + ".mlp.c_proj", 4 * config.n_embd, config.n_embd,
               conv1d(residual_stddev(config))) {}

Tensor Gpt2::Block::operator()(const Tensor& x, const Forward& mode) const {  // [B,T,C]
  const Tensor attended = x + attend(ln_1(x), mode);
  const Tensor hidden = gelu_tanh(c_fc(ln_2(attended)));  // [B,T,4C]
  return attended + apply_dropout(mlp_proj(hidden), dropout, mode, path + ".mlp.dropout");
}

Tensor Gpt2::Block::attend(const Tensor& x, const Forward& mode) const {
  const std::int64_t width = x.size(2);
  const Tensor qkv =
      reshape(c_attn(x), Shape{x.size(0), x.size(1), 3, n_head, width / n_head});  // [B,T,3,H,D]
  AttentionSpec spec;
  spec.causal = true;
  spec.scale = 1.0 / std::sqrt(static_cast<double>(width / n_head));
  spec.dropout = mode.training ? dropout : 0.0;
  spec.key = mode.key;
  const auto mix = [&] {
    const ModuleScope scope(x.context(), path + ".attn");
    return reshape(attention(qkv, spec), x.shape());
  };
  return apply_dropout(attn_proj(mix()), dropout, mode, path + ".attn.dropout");
}

Gpt2::Gpt2(const ModelConfig& config, std::int64_t vocab_size, Precision precision)
    : Model(precision),
      block_size_(config.block_size),
      dropout_(config.dropout),
      wte_(parameters_, "wte", vocab_size, config.n_embd,
           {.init = Initializer::normal(kInitStddev), .attends = true}),
      wpe_(parameters_, "wpe", config.block_size, config.n_embd,
           {.init = Initializer::normal(kInitStddev)}),
      blocks_([&] {
        LS_USER_CHECK(config.n_embd % config.n_head == 0,
                      "model.n_embd {} does not divide by model.n_head {}", config.n_embd,
                      config.n_head);
        std::vector<Block> blocks;
        blocks.reserve(static_cast<std::size_t>(config.n_layer));
        for (std::int64_t i = 0; i < config.n_layer; ++i)
          blocks.emplace_back(parameters_, config, i);
        return blocks;
      }()),
      ln_f_(parameters_, "ln_f", config.n_embd) {}

ModelOutput Gpt2::forward(const TensorMap& batch, const Forward& mode) {
  const Tensor& targets = batch.at("targets");  // [B,T]
  const Tensor scores = logits(batch.at("tokens"), mode);
  const std::int64_t rows = targets.shape().elements();
  return classification_output(reshape(scores, Shape{rows, scores.size(2)}),
                               reshape(targets, Shape{rows}), batch, targets.size(0));
}

Tensor Gpt2::logits(const Tensor& tokens, const Forward& mode) {
  const std::int64_t time = tokens.size(1);
  LS_USER_CHECK(time <= block_size_, "a sequence of {} tokens is longer than model.block_size {}",
                time, block_size_);
  const Tensor positions = slice_dim(wpe_.table(), 0, 0, time);                // [T,C]
  const Tensor embedded = convert(wte_(tokens) + positions, compute_dtype());  // [B,T,C]
  Tensor x = apply_dropout(embedded, dropout_, mode, "drop");
  for (const Block& block : blocks_) x = block(x, mode);
  return wte_.attend(ln_f_(x));  // [B,T,V]
}

}  // namespace lockstep
