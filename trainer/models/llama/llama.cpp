#include "trainer/models/llama/llama.h"

#include "core/base/error.h"
#include "core/trace/mode.h"
#include "core/trace/remat.h"

namespace lockstep {
namespace {

Linear::Options linear_options(const LlamaConfig& config, bool bias) {
  return {.bias = bias,
          .weight_init = Initializer::normal(config.initializer_range),
          .bias_init = Initializer::constant(0.0)};
}

AttentionOptions attention_options(const LlamaConfig& config) {
  return {.heads = config.num_attention_heads,
          .kv_heads = config.num_key_value_heads,
          .head_size = config.head_dim,
          .causal = true,
          .dropout = config.attention_dropout,
          .bias = config.attention_bias,
          .rotary = config.rotary(),
          .output_name = "o_proj",
          .weight_init = Initializer::normal(config.initializer_range),
          .bias_init = Initializer::constant(0.0)};
}

}  // namespace

Llama::Block::Block(Module& parent, std::string_view name, const Config& config)
    : Module(parent, name),
      input_layernorm(*this, "input_layernorm", config.hidden_size, config.rms_norm_eps),
      self_attn(*this, "self_attn", config.hidden_size, attention_options(config)),
      post_attention_layernorm(*this, "post_attention_layernorm", config.hidden_size,
                               config.rms_norm_eps),
      mlp(*this, "mlp", config.hidden_size, config.intermediate_size,
          {.activation = activation_of(config.hidden_act),
           .linear = linear_options(config, config.mlp_bias)}) {}

Tensor Llama::Block::operator()(const Tensor& x, const SequenceLayout& layout) const {
  const Tensor attended = x + self_attn(input_layernorm(x), layout);
  return attended + mlp(post_attention_layernorm(attended));
}

Tensor Llama::Block::next(const Tensor& x, KeyValueCache& cache, std::size_t layer) const {
  const Tensor attended = x + self_attn(input_layernorm(x), cache, layer);
  return attended + mlp(post_attention_layernorm(attended));
}

Llama::Body::Body(Module& parent, const Config& config, const DataFacts& data)
    : Module(parent, "model"),
      max_positions(config.max_position_embeddings),
      gradient_checkpointing(config.gradient_checkpointing),
      embed_tokens(*this, "embed_tokens", vocabulary_size(config.vocab_size, data),
                   config.hidden_size,
                   {.init = Initializer::normal(config.initializer_range),
                    .attends = config.tie_word_embeddings}),
      layers(*this, "layers"),
      norm([&]() -> RMSNorm {
        for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) layers.add(config);
        return {*this, "norm", config.hidden_size, config.rms_norm_eps};
      }()) {}

Tensor Llama::Body::operator()(const TokenInputs& sequence) const {
  LS_USER_CHECK(sequence.tokens.size(1) <= max_positions,
                "a sequence of {} tokens is longer than model.max_position_embeddings {}",
                sequence.tokens.size(1), max_positions);
  Tensor x = to_compute_dtype(embed_tokens(sequence.tokens));
  for (const Block& block : layers) {
    const auto run = [&](const Tensor& y) { return block(y, sequence.layout); };
    x = gradient_checkpointing ? remat(run, x) : run(x);
  }
  return norm(x);
}

Tensor Llama::Body::next(const Tensor& tokens, KeyValueCache& cache) const {
  Tensor x = to_compute_dtype(embed_tokens(tokens));
  std::size_t layer = 0;
  for (const Block& block : layers) x = block.next(x, cache, layer++);
  return norm(gather(x, cache.last, 1));  // [B,C]
}

Llama::Llama(const Config& config, const DataFacts& data)
    : cache_shape_{.layers = config.num_hidden_layers,
                   .kv_heads = config.num_key_value_heads > 0 ? config.num_key_value_heads
                                                              : config.num_attention_heads,
                   .head_size = config.head_size(),
                   .length = config.max_position_embeddings},
      model_(*this, config, data) {
  if (config.tie_word_embeddings) return;
  lm_head_ = std::make_unique<Linear>(*this, "lm_head", config.hidden_size,
                                      vocabulary_size(config.vocab_size, data),
                                      linear_options(config, false));
}

Loss Llama::operator()(const Batch& batch) const {
  const Tensor scores = logits(TokenInputs::of(batch));
  return has_ignored_targets(batch) ? chosen_token_loss(scores, batch) : token_loss(scores, batch);
}

Tensor Llama::logits(const Tensor& tokens) const {
  return logits(TokenInputs{tokens});
}

Tensor Llama::logits(const TokenInputs& sequence) const {
  return head(model_(sequence));
}

Tensor Llama::next_logits(const Tensor& tokens, KeyValueCache& cache) const {
  return head(model_.next(tokens, cache));
}

Tensor Llama::head(const Tensor& x) const {
  return lm_head_ == nullptr ? model_.embed_tokens.attend(x) : (*lm_head_)(x);
}

}  // namespace lockstep
