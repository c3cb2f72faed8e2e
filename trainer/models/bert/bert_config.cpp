#include "trainer/models/bert/bert_config.h"

#include <fmt/format.h>

#include "trainer/models/parts/text_model.h"

namespace lockstep {

std::vector<Key> BertConfig::keys() {
  return {{.name = "vocab_size",
           .member = bind<&BertConfig::vocab_size>(),
           .range = size_at_least(0),
           .unit = "tokens",
           .doc = "Rows of the token embedding; 0 uses the size of the tokenizer's vocabulary."},
          {.name = "hidden_size",
           .aliases = {"n_embd"},
           .member = bind<&BertConfig::hidden_size>(),
           .range = size_at_least(1),
           .doc = "Width of the hidden states."},
          {.name = "num_hidden_layers",
           .aliases = {"n_layer"},
           .member = bind<&BertConfig::num_hidden_layers>(),
           .range = {1, 4096},
           .doc = "Transformer layers."},
          {.name = "num_attention_heads",
           .aliases = {"n_head"},
           .member = bind<&BertConfig::num_attention_heads>(),
           .range = size_at_least(1),
           .doc = "Attention heads per layer; divides hidden_size."},
          {.name = "intermediate_size",
           .member = bind<&BertConfig::intermediate_size>(),
           .range = size_at_least(1),
           .doc = "Hidden width of a feed-forward part."},
          {.name = "max_position_embeddings",
           .aliases = {"block_size"},
           .member = bind<&BertConfig::max_position_embeddings>(),
           .range = size_at_least(1),
           .unit = "tokens",
           .doc = "Number of positions: the maximum sequence length."},
          {.name = "type_vocab_size",
           .member = bind<&BertConfig::type_vocab_size>(),
           .range = size_at_least(1),
           .doc = "Number of token types, which mark the parts of a sequence."},
          {.name = "hidden_act",
           .member = bind<&BertConfig::hidden_act>(),
           .doc = "Activation in the feed-forward parts and the head."},
          {.name = "hidden_dropout_prob",
           .aliases = {"dropout"},
           .member = bind<&BertConfig::hidden_dropout_prob>(),
           .range = fraction(),
           .doc = "Probability of dropping an element of embeddings and of the layers' outputs "
                  "before the residual addition."},
          {.name = "attention_probs_dropout_prob",
           .aliases = {"dropout"},
           .member = bind<&BertConfig::attention_probs_dropout_prob>(),
           .range = fraction(),
           .doc = "Probability of dropping an element of the attention weights."},
          {.name = "layer_norm_eps",
           .member = bind<&BertConfig::layer_norm_eps>(),
           .range = above(0),
           .doc = "Added to the variance in layer norms."},
          {.name = "initializer_range",
           .member = bind<&BertConfig::initializer_range>(),
           .range = at_least(0),
           .doc = "Standard deviation of the initial weights."},
          {.name = "gradient_checkpointing",
           .member = bind<&BertConfig::gradient_checkpointing>(),
           .doc = "Compute each layer again in the backward pass instead of keeping its values: "
                  "the same bits with less memory and more time."}};
}

DataNeeds BertConfig::needs() const {
  return {.inputs = "masked_tokens",
          .sequence_length = max_position_embeddings,
          .vocab_size = vocab_size,
          .vocab_key = "model.vocab_size"};
}

void BertConfig::check(const Config& run, const ReportProblem& report) const {
  if (hidden_size % num_attention_heads != 0)
    report({"model.num_attention_heads", "model.hidden_size", "model.name"},
           fmt::format("'model.num_attention_heads' {} does not divide 'model.hidden_size' {}",
                       num_attention_heads, hidden_size));
  check_positions(max_position_embeddings, "model.max_position_embeddings", run, report);
}

std::vector<std::pair<std::string, BertConfig>> BertConfig::sizes() {
  constexpr std::int64_t kVocabulary = 30522;
  const auto size = [](std::int64_t layers, std::int64_t width) {
    constexpr std::int64_t kHeadSize = 64;
    return BertConfig{.vocab_size = kVocabulary,
                      .hidden_size = width,
                      .num_hidden_layers = layers,
                      .num_attention_heads = width / kHeadSize,
                      .intermediate_size = 4 * width};
  };
  std::vector<std::pair<std::string, BertConfig>> out = {
      {"BERT tiny", size(2, 128)}, {"BERT base", size(12, 768)}, {"BERT large", size(24, 1024)}};
  for (auto& [text, config] : out)
    text = fmt::format("num_hidden_layers {} hidden_size {}: {}", config.num_hidden_layers,
                       config.hidden_size, text);
  return out;
}

std::vector<Key> BertClassifierConfig::keys() {
  std::vector<Key> out = BertConfig::keys();
  out.push_back({.name = "num_labels",
                 .member = bind<&BertConfig::num_labels>(),
                 .range = size_at_least(2),
                 .doc = "Number of classes; auto is the number of labels of the training data.",
                 .empty_word = "auto"});
  out.push_back({.name = "classifier_dropout",
                 .aliases = {"dropout"},
                 .member = bind<&BertConfig::classifier_dropout>(),
                 .range = fraction(),
                 .doc = "Probability of dropping an element of the classifier's input."});
  return out;
}

std::vector<std::pair<std::string, BertClassifierConfig>> BertClassifierConfig::sizes() {
  std::vector<std::pair<std::string, BertClassifierConfig>> out;
  for (auto& [text, config] : BertConfig::sizes()) {
    out.push_back({text, {config}});
    out.back().second.num_labels = 2;
  }
  return out;
}

DataNeeds BertClassifierConfig::needs() const {
  DataNeeds out = BertConfig::needs();
  out.inputs = "labelled_tokens";
  out.n_classes = num_labels;
  out.classes_key = "model.num_labels";
  return out;
}

}  // namespace lockstep
