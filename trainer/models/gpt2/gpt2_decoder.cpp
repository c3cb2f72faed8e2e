#include "trainer/models/gpt2/gpt2_decoder.h"

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

/// The attention of x [B,T,C], in heads.
AttentionSpec attention_spec(const Tensor& x, std::int64_t heads, double dropout) {
  AttentionSpec out;
  const std::int64_t head_size = x.size(2) / heads;
  out.scale = 1.0 / std::sqrt(static_cast<double>(head_size));
  out.dropout = mode_of(x).training ? dropout : 0.0;
  out.key = mode_of(x).key;
  return out;
}

/// Part i of joined projections [B,T,parts,H,D]: [B,T,H,D].
Tensor part_of(const Tensor& joined, std::int64_t i) {
  const Shape& shape = joined.shape();
  return reshape(slice_dim(joined, 2, i, i + 1), Shape{shape[0], shape[1], shape[3], shape[4]});
}

}  // namespace

Gpt2Decoder::Attention::Attention(Module& parent, const Gpt2Config& config)
    : Module(parent, "attn"),
      n_head(config.n_head),
      attn_dropout(config.attn_pdrop),
      c_attn(*this, "c_attn", config.n_embd, 3 * config.n_embd, conv1d(config.initializer_range)),
      c_proj(*this, "c_proj", config.n_embd, config.n_embd, conv1d(residual_stddev(config))),
      dropout(*this, "dropout", config.resid_pdrop) {}

Tensor Gpt2Decoder::Attention::operator()(const Tensor& x, const Seen& seen) const {
  const std::int64_t width = x.size(2);
  const Tensor qkv =
      reshape(c_attn(x), Shape{x.size(0), x.size(1), 3, n_head, width / n_head});  // [B,T,3,H,D]
  AttentionSpec spec = attention_spec(x, n_head, attn_dropout);
  spec.causal = true;
  if (seen.layout.key_mask.defined()) spec.key_mask = seen.layout.key_mask;
  if (seen.layout.segments.defined()) spec.segments = seen.layout.segments;
  const auto mix = [&] {
    const ModuleScope scope = enter(x);
    if (seen.cache == nullptr) return reshape(attention(qkv, spec), x.shape());
    return reshape(seen.cache->attend(seen.layer, part_of(qkv, 0), part_of(qkv, 1), part_of(qkv, 2),
                                      spec.scale),
                   x.shape());
  };
  return dropout(c_proj(mix()));
}

Gpt2Decoder::CrossAttention::CrossAttention(Module& parent, const Gpt2Config& config)
    : Module(parent, "crossattention"),
      n_head(config.n_head),
      attn_dropout(config.attn_pdrop),
      c_attn(*this, "c_attn", config.n_embd, 2 * config.n_embd, conv1d(config.initializer_range)),
      q_attn(*this, "q_attn", config.n_embd, config.n_embd, conv1d(config.initializer_range)),
      c_proj(*this, "c_proj", config.n_embd, config.n_embd, conv1d(residual_stddev(config))),
      dropout(*this, "dropout", config.resid_pdrop) {}

KeyValueCache::Layer Gpt2Decoder::CrossAttention::keys_and_values(const Tensor& memory) const {
  const std::int64_t width = memory.size(2);
  const Tensor both = reshape(c_attn(memory), Shape{memory.size(0), memory.size(1), 2, n_head,
                                                    width / n_head});  // [B,S,2,H,D]
  const ModuleScope scope = enter(memory);
  return {part_of(both, 0), part_of(both, 1)};
}

Tensor Gpt2Decoder::CrossAttention::operator()(const Tensor& x, const Seen& seen) const {
  const Tensor q = q_attn(x);
  const KeyValueCache::Layer kept =
      seen.cache != nullptr ? seen.cache->memory.at(seen.layer) : keys_and_values(seen.memory);
  const auto mix = [&] {
    const ModuleScope scope = enter(x);
    const Tensor by_head = reshape(q, Shape{x.size(0), x.size(1), n_head, x.size(2) / n_head});
    return reshape(
        attention(by_head, kept.keys, kept.values, attention_spec(x, n_head, attn_dropout)),
        x.shape());
  };
  return dropout(c_proj(mix()));
}

Gpt2Decoder::Mlp::Mlp(Module& parent, const Gpt2Config& config)
    : Module(parent, "mlp"),
      activation(activation_of(config.activation_function)),
      c_fc(*this, "c_fc", config.n_embd, config.inner_width(), conv1d(config.initializer_range)),
      c_proj(*this, "c_proj", config.inner_width(), config.n_embd, conv1d(residual_stddev(config))),
      dropout(*this, "dropout", config.resid_pdrop) {}

Tensor Gpt2Decoder::Mlp::operator()(const Tensor& x) const {
  return dropout(c_proj(activate(c_fc(x), activation)));  // [B,T,n_inner] between
}

Gpt2Decoder::Block::Cross::Cross(Module& parent, const Gpt2Config& config)
    : norm(parent, "ln_cross_attn", config.n_embd, config.layer_norm_epsilon),
      attention(parent, config) {}

Gpt2Decoder::Block::Block(Module& parent, std::string_view name, const Gpt2Config& config,
                          bool cross_attention)
    : Module(parent, name),
      ln_1(*this, "ln_1", config.n_embd, config.layer_norm_epsilon),
      attn(*this, config),
      cross(cross_attention ? std::make_unique<Cross>(*this, config) : nullptr),
      ln_2(*this, "ln_2", config.n_embd, config.layer_norm_epsilon),
      mlp(*this, config) {}

Tensor Gpt2Decoder::Block::operator()(const Tensor& x, const Seen& seen) const {  // [B,T,C]
  Tensor attended = x + attn(ln_1(x), seen);
  if (cross) attended = attended + cross->attention(cross->norm(attended), seen);
  return attended + mlp(ln_2(attended));
}

Gpt2Decoder::Gpt2Decoder(Module& owner, const Gpt2Config& config, std::int64_t vocab_size,
                         bool cross_attention, std::string_view section)
    : cache_shape_{.layers = config.n_layer,
                   .kv_heads = config.n_head,
                   .head_size = config.n_embd / config.n_head,
                   .length = config.n_positions},
      n_positions_(config.n_positions),
      section_(section),
      gradient_checkpointing_(config.gradient_checkpointing),
      wte_(owner, "wte", vocab_size, config.n_embd,
           {.init = Initializer::normal(config.initializer_range), .attends = true}),
      wpe_(owner, "wpe", config.n_positions, config.n_embd,
           {.init = Initializer::normal(config.initializer_range)}),
      drop_(owner, "drop", config.embd_pdrop),
      h_(owner, "h"),
      ln_f_([&]() -> LayerNorm {
        LS_USER_CHECK(config.n_embd % config.n_head == 0,
                      "{}.n_embd {} is not divisible by {}.n_head {}", section, config.n_embd,
                      section, config.n_head);
        for (std::int64_t i = 0; i < config.n_layer; ++i) h_.add(config, cross_attention);
        return {owner, "ln_f", config.n_embd, config.layer_norm_epsilon};
      }()) {}

Tensor Gpt2Decoder::logits(const TokenInputs& sequence, const Tensor& memory) const {
  const std::int64_t time = sequence.tokens.size(1);
  LS_USER_CHECK(time <= n_positions_, "a sequence of {} tokens is longer than {}.n_positions {}",
                time, section_, n_positions_);
  const SequenceLayout& layout = sequence.layout;
  const Tensor positions = layout.positions.defined()
                               ? gather(wpe_.table(), layout.positions, 0)  // [B,T,C]
                               : slice_dim(wpe_.table(), 0, 0, time);       // [T,C]
  Tensor x = drop_(to_compute_dtype(wte_(sequence.tokens) + positions));    // [B,T,C]
  for (const Block& block : h_) {
    const auto run = [&](const Tensor& y) { return block(y, {layout, memory}); };
    x = gradient_checkpointing_ ? remat(run, x) : run(x);
  }
  return wte_.attend(ln_f_(x));  // [B,T,V]
}

void Gpt2Decoder::remember(const Tensor& memory, KeyValueCache& cache) const {
  cache.memory.clear();
  for (const Block& block : h_)
    cache.memory.push_back(block.cross->attention.keys_and_values(memory));
}

Tensor Gpt2Decoder::next_logits(const Tensor& tokens, KeyValueCache& cache) const {
  const Tensor& table = wpe_.table();
  const Tensor starts[] = {cache.position, table.context().constant(0.0, DType::kI64)};
  const Tensor positions =
      dynamic_slice(table, starts, Shape{tokens.size(1), table.size(1)});  // [T,C]
  Tensor x = to_compute_dtype(wte_(tokens) + positions);                   // [B,T,C]
  const SequenceLayout layout;
  std::size_t layer = 0;
  for (const Block& block : h_) x = block(x, {.layout = layout, .cache = &cache, .layer = layer++});
  return wte_.attend(ln_f_(gather(x, cache.last, 1)));  // [B,V]
}

}  // namespace lockstep
