#include "trainer/config/tokenizer_keys.h"

namespace lockstep {
namespace {

void* section(Config& config) {
  return &config.tokenizer;
}

}  // namespace

std::vector<KeyGroup> tokenizer_keys(const Condition& takes_tokens) {
  return {
      {"tokenizer",
       section,
       {{.name = "type",
         .member = bind<&TokenizerConfig::type>(),
         .doc = "How text becomes tokens: one per character of the corpus, GPT-2's byte-pair "
                "encoding, or that of a file. With none, data of tokens uses the tokenizer.json "
                "beside it, if there is one."}},
       takes_tokens},
      {"tokenizer",
       section,
       {{.name = "vocab",
         .member = bind<&TokenizerConfig::vocab>(),
         .doc = "GPT-2's vocab.json.",
         .required = true,
         .per_rank = true,
         .file = true},
        {.name = "merges",
         .member = bind<&TokenizerConfig::merges>(),
         .doc = "GPT-2's merges.txt.",
         .required = true,
         .per_rank = true,
         .file = true}},
       Condition{"tokenizer.type", {"gpt2"}}},
      {"tokenizer",
       section,
       {{.name = "path",
         .member = bind<&TokenizerConfig::path>(),
         .doc = "Hugging Face's tokenizer.json, BERT's vocab.txt, or a vocab.json with merges.txt "
                "beside it.",
         .required = true,
         .per_rank = true,
         .file = true}},
       Condition{"tokenizer.type", {"file"}}},
  };
}

}  // namespace lockstep
