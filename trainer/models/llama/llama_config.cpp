#include "trainer/models/llama/llama_config.h"

#include <fmt/format.h>

#include "trainer/models/parts/text_model.h"

namespace lockstep {
namespace {

std::vector<Key> llama_size_keys() {
  return {{.name = "vocab_size",
           .member = bind<&LlamaConfig::vocab_size>(),
           .range = size_at_least(0),
           .unit = "tokens",
           .doc = "Rows of the token embedding; 0 uses the size of the tokenizer's vocabulary."},
          {.name = "hidden_size",
           .aliases = {"n_embd"},
           .member = bind<&LlamaConfig::hidden_size>(),
           .range = size_at_least(1),
           .doc = "Width of the residual stream."},
          {.name = "intermediate_size",
           .member = bind<&LlamaConfig::intermediate_size>(),
           .range = size_at_least(1),
           .doc = "Hidden width of a feed-forward part."},
          {.name = "num_hidden_layers",
           .aliases = {"n_layer"},
           .member = bind<&LlamaConfig::num_hidden_layers>(),
           .range = {1, 4096},
           .doc = "Transformer blocks."},
          {.name = "num_attention_heads",
           .aliases = {"n_head"},
           .member = bind<&LlamaConfig::num_attention_heads>(),
           .range = size_at_least(1),
           .doc = "Attention heads per block."},
          {.name = "num_key_value_heads",
           .member = bind<&LlamaConfig::num_key_value_heads>(),
           .range = size_at_least(0),
           .doc = "Heads of keys and values, each shared by a group of neighbouring heads; divides "
                  "num_attention_heads; 0 is num_attention_heads."},
          {.name = "head_dim",
           .member = bind<&LlamaConfig::head_dim>(),
           .range = size_at_least(0),
           .doc = "Width of a head, even; 0 is hidden_size / num_attention_heads."},
          {.name = "max_position_embeddings",
           .aliases = {"block_size"},
           .member = bind<&LlamaConfig::max_position_embeddings>(),
           .range = size_at_least(1),
           .unit = "tokens",
           .doc = "The maximum sequence length."}};
}

std::vector<Key> rope_keys() {
  return {
      {.name = "rope_theta",
       .member = bind<&LlamaConfig::rope_theta>(),
       .range = above(0),
       .doc = "Base of the rotary embedding's frequencies."},
      {.name = "rope_scaling.rope_type",
       .member = bind<&LlamaConfig::rope_type>(),
       .doc = "Which of these frequencies are divided by rope_scaling.factor: none (default), all "
              "(linear), or the lower ones (llama3)."},
      {.name = "rope_scaling.factor",
       .member = bind<&LlamaConfig::rope_factor>(),
       .range = at_least(1),
       .doc = "Ratio of the sequence length to that for which the frequencies were chosen."},
      {.name = "rope_scaling.low_freq_factor",
       .member = bind<&LlamaConfig::low_freq_factor>(),
       .range = above(0),
       .doc =
           "llama3: frequencies with fewer turns than this in the original positions are divided."},
      {.name = "rope_scaling.high_freq_factor",
       .member = bind<&LlamaConfig::high_freq_factor>(),
       .range = above(0),
       .doc = "llama3: frequencies with more turns than this in the original positions are kept."},
      {.name = "rope_scaling.original_max_position_embeddings",
       .member = bind<&LlamaConfig::original_max_position_embeddings>(),
       .range = size_at_least(1),
       .unit = "tokens",
       .doc = "llama3: number of the original positions."}};
}

std::vector<Key> layer_keys() {
  return {{.name = "hidden_act",
           .member = bind<&LlamaConfig::hidden_act>(),
           .doc = "Activation of the gate in the feed-forward parts."},
          {.name = "rms_norm_eps",
           .member = bind<&LlamaConfig::rms_norm_eps>(),
           .range = above(0),
           .doc = "Added to the mean square in norms."},
          {.name = "attention_bias",
           .member = bind<&LlamaConfig::attention_bias>(),
           .doc = "The projections of the attention have biases."},
          {.name = "mlp_bias",
           .member = bind<&LlamaConfig::mlp_bias>(),
           .doc = "The feed-forward parts have biases."},
          {.name = "tie_word_embeddings",
           .member = bind<&LlamaConfig::tie_word_embeddings>(),
           .doc = "The output layer is the token embedding."},
          {.name = "attention_dropout",
           .aliases = {"dropout"},
           .member = bind<&LlamaConfig::attention_dropout>(),
           .range = fraction(),
           .doc = "Probability of dropping an element of the attention weights."},
          {.name = "initializer_range",
           .member = bind<&LlamaConfig::initializer_range>(),
           .range = at_least(0),
           .doc = "Standard deviation of the initial weights."},
          {.name = "gradient_checkpointing",
           .member = bind<&LlamaConfig::gradient_checkpointing>(),
           .doc = "Compute each block again in the backward pass instead of keeping its values: "
                  "the same bits with less memory and more time."}};
}

}  // namespace

std::vector<Key> LlamaConfig::keys() {
  std::vector<Key> out = llama_size_keys();
  for (std::vector<Key>& more : std::array{rope_keys(), layer_keys()})
    std::move(more.begin(), more.end(), std::back_inserter(out));
  return out;
}

Rotary LlamaConfig::rotary() const {
  switch (rope_type) {
    case RopeType::kDefault: return {.base = rope_theta};
    case RopeType::kLinear: return {.base = rope_theta, .factor = rope_factor};
    case RopeType::kLlama3: break;
  }
  return {.base = rope_theta,
          .factor = rope_factor,
          .low_freq_factor = low_freq_factor,
          .high_freq_factor = high_freq_factor,
          .original_positions = static_cast<double>(original_max_position_embeddings)};
}

DataNeeds LlamaConfig::needs() const {
  return {.inputs = "tokens",
          .sequence_length = max_position_embeddings,
          .vocab_size = vocab_size,
          .vocab_key = "model.vocab_size"};
}

void LlamaConfig::check(const Config& run, const ReportProblem& report) const {
  if (head_dim == 0 && hidden_size % num_attention_heads != 0)
    report({"model.num_attention_heads", "model.hidden_size", "model.head_dim", "model.name"},
           fmt::format("'model.num_attention_heads' {} does not divide 'model.hidden_size' {}",
                       num_attention_heads, hidden_size));
  else if (head_size() % 2 != 0)
    report({"model.head_dim", "model.hidden_size", "model.num_attention_heads", "model.name"},
           fmt::format("heads of {} elements cannot be rotated: their size must be even",
                       head_size()));
  if (num_key_value_heads > 0 && num_attention_heads % num_key_value_heads != 0)
    report({"model.num_key_value_heads", "model.num_attention_heads", "model.name"},
           fmt::format("'model.num_key_value_heads' {} does not divide "
                       "'model.num_attention_heads' {}",
                       num_key_value_heads, num_attention_heads));
  if (rope_type == RopeType::kLlama3 && low_freq_factor >= high_freq_factor)
    report({"model.rope_scaling.low_freq_factor", "model.rope_scaling.high_freq_factor",
            "model.rope_scaling.rope_type", "model.name"},
           fmt::format("'model.rope_scaling.low_freq_factor' {} must be below "
                       "'model.rope_scaling.high_freq_factor' {}",
                       low_freq_factor, high_freq_factor));
  check_positions(max_position_embeddings, "model.max_position_embeddings", run, report);
}

std::vector<std::pair<std::string, LlamaConfig>> LlamaConfig::sizes() {
  LlamaConfig small{.vocab_size = 32000,
                    .hidden_size = 768,
                    .intermediate_size = 3072,
                    .num_hidden_layers = 12,
                    .num_attention_heads = 12};
  LlamaConfig tiny{.vocab_size = 32000,
                   .hidden_size = 2048,
                   .intermediate_size = 5632,
                   .num_hidden_layers = 22,
                   .num_attention_heads = 32,
                   .num_key_value_heads = 4};
  LlamaConfig llama2{.vocab_size = 32000, .max_position_embeddings = 4096};
  LlamaConfig llama3{.vocab_size = 128256,
                     .intermediate_size = 14336,
                     .num_key_value_heads = 8,
                     .max_position_embeddings = 8192,
                     .rope_theta = 500000.0};
  std::vector<std::pair<std::string, LlamaConfig>> out = {{"Llama 160M", small},
                                                          {"TinyLlama 1.1B", tiny},
                                                          {"Llama 2 7B", llama2},
                                                          {"Llama 3 8B", llama3}};
  for (auto& [text, size] : out)
    text = fmt::format("num_hidden_layers {} hidden_size {}: {}", size.num_hidden_layers,
                       size.hidden_size, text);
  return out;
}

}  // namespace lockstep
