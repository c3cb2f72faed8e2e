#include "trainer/task/data_source.h"

#include "core/base/error.h"
#include "data/tokenizers/tokenizer_files.h"

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

}  // namespace lockstep
