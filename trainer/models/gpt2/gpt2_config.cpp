#include "trainer/models/gpt2/gpt2_config.h"

#include <fmt/format.h>

#include "trainer/models/parts/text_model.h"

namespace lockstep {

namespace {

/// `dropout` is all three.
Key dropout_key(const char* name, Binding member, const char* what) {
  return {.name = name,
          .aliases = {"dropout"},
          .member = std::move(member),
          .range = fraction(),
          .doc = fmt::format("Probability of dropping an element of {}.", what)};
}

}  // namespace

std::vector<Key> Gpt2Config::keys() {
  return {{.name = "n_layer",
           .aliases = {"num_hidden_layers"},
           .member = bind<&Gpt2Config::n_layer>(),
           .range = {1, 4096},
           .doc = "Transformer blocks."},
          {.name = "n_head",
           .aliases = {"num_attention_heads"},
           .member = bind<&Gpt2Config::n_head>(),
           .range = size_at_least(1),
           .doc = "Attention heads per block; divides n_embd."},
          {.name = "n_embd",
           .aliases = {"hidden_size"},
           .member = bind<&Gpt2Config::n_embd>(),
           .range = size_at_least(1),
           .doc = "Width of the residual stream."},
          {.name = "n_positions",
           .aliases = {"block_size", "max_position_embeddings"},
           .member = bind<&Gpt2Config::n_positions>(),
           .range = size_at_least(1),
           .unit = "tokens",
           .doc = "Number of positions: the maximum sequence length."},
          {.name = "vocab_size",
           .member = bind<&Gpt2Config::vocab_size>(),
           .range = size_at_least(0),
           .unit = "tokens",
           .doc = "Rows of the token embedding; 0 uses the size of the tokenizer's vocabulary."},
          {.name = "n_inner",
           .member = bind<&Gpt2Config::n_inner>(),
           .range = size_at_least(0),
           .doc = "Hidden width of a feed-forward part; 0 is 4 n_embd."},
          {.name = "activation_function",
           .member = bind<&Gpt2Config::activation_function>(),
           .doc = "Activation in the feed-forward parts; gelu_new is the tanh approximation."},
          dropout_key("embd_pdrop", bind<&Gpt2Config::embd_pdrop>(), "the embeddings"),
          dropout_key("attn_pdrop", bind<&Gpt2Config::attn_pdrop>(), "the attention weights"),
          dropout_key("resid_pdrop", bind<&Gpt2Config::resid_pdrop>(),
                      "the additions to the residual stream"),
          {.name = "layer_norm_epsilon",
           .member = bind<&Gpt2Config::layer_norm_epsilon>(),
           .range = above(0),
           .doc = "Added to the variance in layer norms."},
          {.name = "initializer_range",
           .member = bind<&Gpt2Config::initializer_range>(),
           .range = at_least(0),
           .doc = "Standard deviation of the initial weights."},
          {.name = "gradient_checkpointing",
           .member = bind<&Gpt2Config::gradient_checkpointing>(),
           .doc = "Compute each block again in the backward pass instead of keeping its values: "
                  "the same bits with less memory and more time."}};
}

DataNeeds Gpt2Config::needs() const {
  return {.inputs = "tokens",
          .sequence_length = n_positions,
          .vocab_size = vocab_size,
          .vocab_key = "model.vocab_size"};
}

void Gpt2Config::check_sizes(std::string_view section, const Config& run,
                             const ReportProblem& report) const {
  const auto key = [&](const char* name) { return fmt::format("{}.{}", section, name); };
  const std::string heads = key("n_head"), width = key("n_embd");
  if (n_embd % n_head != 0)
    report({heads, width, "model.name"},
           fmt::format("'{}' {} does not divide '{}' {}", heads, n_head, width, n_embd));
  check_positions(n_positions, key("n_positions"), run, report);
}

std::vector<std::pair<std::string, Gpt2Config>> Gpt2Config::sizes() {
  constexpr std::int64_t kCharacters = 65;
  constexpr std::int64_t kVocabulary = 50257;
  std::vector<std::pair<std::string, Gpt2Config>> out = {
      {"small, for characters (65 of them)", {4, 4, 128, 64, kCharacters}},
      {"GPT-2 124M", {12, 12, 768, 1024, kVocabulary}},
      {"GPT-2 medium", {24, 16, 1024, 1024, kVocabulary}},
      {"GPT-2 large", {36, 20, 1280, 1024, kVocabulary}},
      {"GPT-2 XL", {48, 25, 1600, 1024, kVocabulary}}};
  for (auto& [text, size] : out)
    text = fmt::format("n_layer {} n_head {} n_embd {} n_positions {}: {}", size.n_layer,
                       size.n_head, size.n_embd, size.n_positions, text);
  return out;
}

}  // namespace lockstep
