#include "trainer/models/gpt2.h"

#include <cmath>

#include "core/base/error.h"
#include "core/trace/mode.h"
#include "core/trace/remat.h"

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

double residual_stddev(const Gpt2Config& config) {
  return kInitStddev / std::sqrt(2.0 * static_cast<double>(config.n_layer));
}

std::int64_t vocabulary(const Gpt2Config& config, const DataFacts& data) {
  LS_USER_CHECK(config.vocab_size > 0 || data.vocab_size > 0,
                "model.vocab_size must be given: the data has no tokenizer to take it from");
  LS_USER_CHECK(config.vocab_size == 0 || config.vocab_size >= data.vocab_size,
                "model.vocab_size {} is smaller than the tokenizer's vocabulary of {}",
                config.vocab_size, data.vocab_size);
  return config.vocab_size > 0 ? config.vocab_size : data.vocab_size;
}

}  // namespace

Gpt2::Attention::Attention(Module& parent, const Gpt2Config& config)
    : Module(parent, "attn"),
      n_head(config.n_head),
      attn_dropout(config.dropout),
      c_attn(*this, "c_attn", config.n_embd, 3 * config.n_embd, conv1d(kInitStddev)),
      c_proj(*this, "c_proj", config.n_embd, config.n_embd, conv1d(residual_stddev(config))),
      dropout(*this, "dropout", config.dropout) {}

Tensor Gpt2::Attention::operator()(const Tensor& x) const {
  const std::int64_t width = x.size(2);
  const Tensor qkv =
      reshape(c_attn(x), Shape{x.size(0), x.size(1), 3, n_head, width / n_head});  // [B,T,3,H,D]
  AttentionSpec spec;
  spec.causal = true;
  spec.scale = 1.0 / std::sqrt(static_cast<double>(width / n_head));
  spec.dropout = mode_of(x).training ? attn_dropout : 0.0;
  spec.key = mode_of(x).key;
  const auto mix = [&] {
    const ModuleScope scope = enter(x);
    return reshape(attention(qkv, spec), x.shape());
  };
  return dropout(c_proj(mix()));
}

Gpt2::Mlp::Mlp(Module& parent, const Gpt2Config& config)
    : Module(parent, "mlp"),
      c_fc(*this, "c_fc", config.n_embd, 4 * config.n_embd, conv1d(kInitStddev)),
      c_proj(*this, "c_proj", 4 * config.n_embd, config.n_embd, conv1d(residual_stddev(config))),
      dropout(*this, "dropout", config.dropout) {}

Tensor Gpt2::Mlp::operator()(const Tensor& x) const {
  return dropout(c_proj(gelu_tanh(c_fc(x))));  // [B,T,4C] between
}

Gpt2::Block::Block(Module& parent, std::string_view name, const Gpt2Config& config)
    : Module(parent, name),
      ln_1(*this, "ln_1", config.n_embd),
      attn(*this, config),
      ln_2(*this, "ln_2", config.n_embd),
      mlp(*this, config) {}

Tensor Gpt2::Block::operator()(const Tensor& x) const {  // [B,T,C]
  const Tensor attended = x + attn(ln_1(x));
  return attended + mlp(ln_2(attended));
}

Gpt2::Gpt2(const Gpt2Config& config, const DataFacts& data)
    : block_size_(config.block_size),
      gradient_checkpointing_(config.gradient_checkpointing),
      wte_(*this, "wte", vocabulary(config, data), config.n_embd,
           {.init = Initializer::normal(kInitStddev), .attends = true}),
      wpe_(*this, "wpe", config.block_size, config.n_embd,
           {.init = Initializer::normal(kInitStddev)}),
      drop_(*this, "drop", config.dropout),
      h_(*this, "h"),
      ln_f_([&]() -> LayerNorm {
        LS_USER_CHECK(config.n_embd % config.n_head == 0,
                      "model.n_embd {} does not divide by model.n_head {}", config.n_embd,
                      config.n_head);
        for (std::int64_t i = 0; i < config.n_layer; ++i) h_.add(config);
        return {*this, "ln_f", config.n_embd};
      }()) {}

Loss Gpt2::operator()(const Batch& batch) const {
  const Tensor& targets = batch["targets"];  // [B,T]
  const Tensor scores = logits(batch["tokens"]);
  const std::int64_t rows = targets.shape().elements();
  return classification_loss(reshape(scores, Shape{rows, scores.size(2)}),
                             reshape(targets, Shape{rows}), batch);
}

Tensor Gpt2::logits(const Tensor& tokens) const {
  const std::int64_t time = tokens.size(1);
  LS_USER_CHECK(time <= block_size_, "a sequence of {} tokens is longer than model.block_size {}",
                time, block_size_);
  const Tensor positions = slice_dim(wpe_.table(), 0, 0, time);  // [T,C]
  Tensor x = drop_(to_compute_dtype(wte_(tokens) + positions));  // [B,T,C]
  for (const Block& block : h_) x = gradient_checkpointing_ ? remat(block, x) : block(x);
  return wte_.attend(ln_f_(x));  // [B,T,V]
}

}  // namespace lockstep
