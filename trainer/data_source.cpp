#include "trainer/data_source.h"

#include "core/base/error.h"
#include "data/tokenizers/tokenizer_files.h"
#include "trainer/registry/registry.h"

namespace lockstep {

TokenizerPtr OpenContext::open_tokenizer(const std::string& text_name,
                                         const std::string& text) const {
  if (!tokenizer_json.empty()) return tokenizer_from_json(tokenizer_json, "the checkpoint");
  switch (tokenizer.type) {
    case TokenizerType::kChar: return character_tokenizer(text_name, text);
    case TokenizerType::kGpt2: return read_gpt2_tokenizer(tokenizer.vocab, tokenizer.merges);
    case TokenizerType::kFile: return load_tokenizer(tokenizer.path);
    case TokenizerType::kNone:
      raise(ErrorKind::kUsage, "tokenizer.type must be given to train on text");
  }
  __builtin_unreachable();
}

DataSource open_data(const Config& config, const Registry& registry,
                     const std::string& tokenizer_json) {
  OpenContext context{.needs = registry.needs(config.model),
                      .seed = static_cast<std::uint64_t>(config.run.seed),
                      .tokenizer = config.tokenizer,
                      .mlm_probability = config.data.mlm_probability,
                      .mlm_whole_words = config.data.mlm_whole_words,
                      .tokenizer_json = tokenizer_json};
  context.sequence_length =
      config.data.sequence_length > 0 ? config.data.sequence_length : context.needs.sequence_length;
  return registry.open_dataset(config.data, context);
}

}  // namespace lockstep
