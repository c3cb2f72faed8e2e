#include "data/tokens/text.h"

#include "core/base/error.h"
#include "data/files/utf8.h"

namespace lockstep {

TextSplit split_text(std::string_view text, double train_fraction) {
  LS_USER_CHECK(train_fraction > 0 && train_fraction <= 1,
                "the training fraction must be in (0, 1], but is {}", train_fraction);
  const auto wanted =
      static_cast<std::size_t>(static_cast<double>(count_characters(text)) * train_fraction);
  const std::size_t at = character_offset(text, wanted);
  return {text.substr(0, at), text.substr(at)};
}

TokenStreamPtr tokenize_text(const std::string& name, std::string_view text,
                             const Tokenizer& tokenizer) {
  try {
    return std::make_shared<MemoryTokens>(name, tokenizer.encode(text), tokenizer.vocab_size());
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace lockstep
