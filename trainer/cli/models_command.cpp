#include <ostream>

#include "trainer/cli/commands.h"
#include "trainer/models/model.h"

namespace lockstep {
namespace {

constexpr std::int64_t kGpt2Vocabulary = 50257;

struct Variant {
  ModelConfig config;
  std::int64_t vocab_size = 0;
  std::string description;
};

ModelConfig gpt2(std::int64_t n_layer, std::int64_t n_head, std::int64_t n_embd,
                 std::int64_t block_size) {
  ModelConfig out;
  out.name = ModelName::kGpt2;
  out.n_layer = n_layer;
  out.n_head = n_head;
  out.n_embd = n_embd;
  out.block_size = block_size;
  return out;
}

ModelConfig classifier(ModelName name) {
  ModelConfig out;
  out.name = name;
  return out;
}

std::vector<Variant> variants() {
  return {{classifier(ModelName::kMlp), 0, "784-512-512-10 perceptron with ReLU, for images"},
          {classifier(ModelName::kLenet), 0, "LeNet-5 with ReLU and max pooling, 28 x 28 images"},
          {gpt2(4, 4, 128, 64), 65, "small, for characters (65 of them)"},
          {gpt2(12, 12, 768, 1024), kGpt2Vocabulary, "GPT-2 124M"},
          {gpt2(24, 16, 1024, 1024), kGpt2Vocabulary, "GPT-2 medium"},
          {gpt2(36, 20, 1280, 1024), kGpt2Vocabulary, "GPT-2 large"},
          {gpt2(48, 25, 1600, 1024), kGpt2Vocabulary, "GPT-2 XL"}};
}

std::string keys_of(const ModelConfig& config) {
  switch (config.name) {
    case ModelName::kMlp: return "";
    case ModelName::kLenet: return "";
    case ModelName::kGpt2:
      return fmt::format("n_layer {} n_head {} n_embd {} block_size {}: ", config.n_layer,
                         config.n_head, config.n_embd, config.block_size);
  }
  __builtin_unreachable();
}

int run(const CommandCall& call) {
  call.out << fmt::format("{:<10} {:>13}  {}\n", "model.name", "parameters", "what it is");
  for (const Variant& variant : variants()) {
    const std::int64_t parameters =
        make_model(variant.config, variant.vocab_size)->parameters().elements();
    call.out << fmt::format("{:<10} {:>13}  {}{}\n", name_of(variant.config.name), parameters,
                            keys_of(variant.config), variant.description);
  }
  return 0;
}

}  // namespace

CliCommand models_command() {
  return {.name = "models",
          .positionals = {},
          .help = "list the models and the number of their parameters at common sizes",
          .run = run};
}

}  // namespace lockstep
