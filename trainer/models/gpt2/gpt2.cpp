#include "trainer/models/gpt2/gpt2.h"

#include <cmath>

#include "core/base/error.h"
#include "core/nn/norm.h"
#include "core/trace/mode.h"
#include "core/trace/remat.h"

namespace lockstep {
namespace {

/// GPT-2's Conv1D: weight [in, out]. Projections back into the residual stream start smaller, by
/// the square root of the number of residual layers.
Linear::Options conv1d(double stddev) {
  return {.bias = true,
          .transposed = false,
          .weight_init = Initializer::normal(stddev),
          .bias_init = Initializer::constant(0.0)};
}

double residual_stddev(const Gpt2Config& config) {
  return config.initializer_range / std::sqrt(2.0 * static_cast<double>(config.n_layer));
}

}  // namespace

Gpt2::Attention::Attention(Module& parent, const Gpt2Config& config)
    : Module(parent, "attn"),
      n_head(config.n_head),
      attn_dropout(config.attn_pdrop),
      c_attn(*this, "c_attn", config.n_embd, 3 * config.n_embd, conv1d(config.initializer_range)),
      c_proj(*this, "c_proj", config.n_embd, config.n_embd, conv1d(residual_stddev(config))),
      dropout(*this, "dropout", config.resid_pdrop) {}

Tensor Gpt2::Attention::operator()(const Tensor& x, const SequenceLayout& layout,
                                   const Cached& cached) const {
  const std::int64_t width = x.size(2);
  const Tensor qkv =
      reshape(c_attn(x), Shape{x.size(0), x.size(1), 3, n_head, width / n_head});  // [B,T,3,H,D]
  AttentionSpec spec;
  spec.causal = true;
  // NOLINTNEXTLINE(bugprone-integer-division): it is the width of a head
  spec.scale = 1.0 / std::sqrt(static_cast<double>(width / n_head));
  spec.dropout = mode_of(x).training ? attn_dropout : 0.0;
  spec.key = mode_of(x).key;
  if (layout.key_mask.defined()) spec.key_mask = layout.key_mask;
  if (layout.segments.defined()) spec.segments = layout.segments;
  const auto mix = [&] {
    const ModuleScope scope = enter(x);
    if (cached.cache == nullptr) return reshape(attention(qkv, spec), x.shape());
    const auto part = [&](std::int64_t i) {
      return reshape(slice_dim(qkv, 2, i, i + 1),
                     Shape{x.size(0), x.size(1), n_head, width / n_head});
    };
    return reshape(cached.cache->attend(cached.layer, part(0), part(1), part(2), spec.scale),
                   x.shape());
  };
  return dropout(c_proj(mix()));
}

Gpt2::Mlp::Mlp(Module& parent, const Gpt2Config& config)
    : Module(parent, "mlp"),
      activation(activation_of(config.activation_function)),
      c_fc(*this, "c_fc", config.n_embd, config.inner_width(), conv1d(config.initializer_range)),
      c_proj(*this, "c_proj", config.inner_width(), config.n_embd, conv1d(residual_stddev(config))),
      dropout(*this, "dropout", config.resid_pdrop) {}

Tensor Gpt2::Mlp::operator()(const Tensor& x) const {
  return dropout(c_proj(activate(c_fc(x), activation)));  // [B,T,n_inner] between
}

Gpt2::Block::Block(Module& parent, std::string_view name, const Gpt2Config& config)
    : Module(parent, name),
      ln_1(*this, "ln_1", config.n_embd, config.layer_norm_epsilon),
      attn(*this, config),
      ln_2(*this, "ln_2", config.n_embd, config.layer_norm_epsilon),
      mlp(*this, config) {}

Tensor Gpt2::Block::operator()(const Tensor& x, const SequenceLayout& layout,
                               const Cached& cached) const {  // [B,T,C]
  const Tensor attended = x + attn(ln_1(x), layout, cached);
  return attended + mlp(ln_2(attended));
}

Gpt2::Gpt2(const Gpt2Config& config, const DataFacts& data)
    : cache_shape_{.layers = config.n_layer,
                   .kv_heads = config.n_head,
                   .head_size = config.n_embd / config.n_head,
                   .length = config.n_positions},
      n_positions_(config.n_positions),
      gradient_checkpointing_(config.gradient_checkpointing),
      wte_(*this, "wte", vocabulary_size(config.vocab_size, data), config.n_embd,
           {.init = Initializer::normal(config.initializer_range), .attends = true}),
      wpe_(*this, "wpe", config.n_positions, config.n_embd,
           {.init = Initializer::normal(config.initializer_range)}),
      drop_(*this, "drop", config.embd_pdrop),
      h_(*this, "h"),
      ln_f_([&]() -> LayerNorm {
        LS_USER_CHECK(config.n_embd % config.n_head == 0,
                      "model.n_embd {} is not divisible by model.n_head {}", config.n_embd,
                      config.n_head);
        for (std::int64_t i = 0; i < config.n_layer; ++i) h_.add(config);
        return {*this, "ln_f", config.n_embd, config.layer_norm_epsilon};
      }()) {}

Loss Gpt2::operator()(const Batch& batch) const {
  const Tensor scores = logits(TokenInputs::of(batch));
  return has_ignored_targets(batch) ? chosen_token_loss(scores, batch) : token_loss(scores, batch);
}

Tensor Gpt2::logits(const Tensor& tokens) const {
  return logits(TokenInputs{tokens});
}

Tensor Gpt2::logits(const TokenInputs& sequence) const {
  const std::int64_t time = sequence.tokens.size(1);
  LS_USER_CHECK(time <= n_positions_, "a sequence of {} tokens is longer than model.n_positions {}",
                time, n_positions_);
  const SequenceLayout& layout = sequence.layout;
  const Tensor positions = layout.positions.defined()
                               ? gather(wpe_.table(), layout.positions, 0)  // [B,T,C]
                               : slice_dim(wpe_.table(), 0, 0, time);       // [T,C]
  Tensor x = drop_(to_compute_dtype(wte_(sequence.tokens) + positions));    // [B,T,C]
  for (const Block& block : h_) {
    const auto run = [&](const Tensor& y) { return block(y, layout); };
    x = gradient_checkpointing_ ? remat(run, x) : run(x);
  }
  return wte_.attend(ln_f_(x));  // [B,T,V]
}

Tensor Gpt2::next_logits(const Tensor& tokens, KeyValueCache& cache) const {
  const Tensor& table = wpe_.table();
  const Tensor starts[] = {cache.position, table.context().constant(0.0, DType::kI64)};
  const Tensor positions =
      dynamic_slice(table, starts, Shape{tokens.size(1), table.size(1)});  // [T,C]
  Tensor x = to_compute_dtype(wte_(tokens) + positions);                   // [B,T,C]
  std::size_t layer = 0;
  for (const Block& block : h_) x = block(x, {}, {&cache, layer++});
  return wte_.attend(ln_f_(gather(x, cache.last, 1)));  // [B,V]
}

}  // namespace lockstep
