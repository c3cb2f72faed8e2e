#include "trainer/models/gpt2_config.h"

#include <fmt/format.h>

namespace lockstep {

std::vector<Key> Gpt2Config::keys() {
  return {{.name = "n_layer",
           .member = bind<&Gpt2Config::n_layer>(),
           .range = {1, 4096},
           .doc = "Transformer blocks."},
          {.name = "n_head",
           .member = bind<&Gpt2Config::n_head>(),
           .range = size_at_least(1),
           .doc = "Attention heads per block; divides n_embd."},
          {.name = "n_embd",
           .member = bind<&Gpt2Config::n_embd>(),
           .range = size_at_least(1),
           .doc = "Width of the residual stream."},
          {.name = "block_size",
           .member = bind<&Gpt2Config::block_size>(),
           .range = size_at_least(1),
           .unit = "tokens",
           .doc = "Positions the model knows: the longest sequence it takes."},
          {.name = "vocab_size",
           .member = bind<&Gpt2Config::vocab_size>(),
           .range = size_at_least(0),
           .unit = "tokens",
           .doc = "Rows of the token embedding; 0 takes the tokenizer's vocabulary."},
          {.name = "dropout",
           .member = bind<&Gpt2Config::dropout>(),
           .range = fraction(),
           .doc = "Probability of dropping an element of embeddings, attention and residuals."},
          {.name = "gradient_checkpointing",
           .member = bind<&Gpt2Config::gradient_checkpointing>(),
           .doc = "Compute each block again for the backward pass instead of keeping its values: "
                  "the same bits in less memory and more time."}};
}

DataNeeds Gpt2Config::needs() const {
  return {.inputs = "tokens", .sequence_length = block_size, .vocab_size = vocab_size};
}

void Gpt2Config::check(const Config& run, const ReportProblem& report) const {
  if (n_embd % n_head != 0) {
    report({"model.n_head", "model.n_embd", "model.name"},
           fmt::format("'model.n_head' {} does not divide 'model.n_embd' {}", n_head, n_embd));
  }
  if (run.data.sequence_length > block_size) {
    report({"data.sequence_length", "model.block_size", "model.name"},
           fmt::format("'data.sequence_length' {} is longer than 'model.block_size' {}",
                       run.data.sequence_length, block_size));
  }
  if (run.tokenizer.type == TokenizerType::kNone && vocab_size == 0 && run.data.type != "text" &&
      run.data.type != "tokens") {
    report({"model.vocab_size", "tokenizer.type", "model.name", "data.type"},
           fmt::format("missing required key 'model.vocab_size': {} data has no tokenizer to take "
                       "it from",
                       run.data.type));
  }
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
    text = fmt::format("n_layer {} n_head {} n_embd {} block_size {}: {}", size.n_layer,
                       size.n_head, size.n_embd, size.block_size, text);
  return out;
}

}  // namespace lockstep
