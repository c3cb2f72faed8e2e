// Plain text as a stream of tokens.
#pragma once

#include <string>
#include <string_view>

#include "data/tokenizers/tokenizer.h"
#include "data/tokens/token_stream.h"

namespace lockstep {

struct TextSplit {
  std::string_view train;
  std::string_view validation;
};

/// The first int(n * train_fraction) characters (code points; a byte that is not UTF-8 counts as
/// one) and the rest: the split of nanoGPT's data/shakespeare*/prepare.py. The views are into
/// `text`. Error kUsage unless 0 < train_fraction <= 1.
TextSplit split_text(std::string_view text, double train_fraction);

/// The tokens of `text`, in memory. `name` is its file. Error kData, naming it, for what the
/// tokenizer cannot encode.
TokenStreamPtr tokenize_text(const std::string& name, std::string_view text,
                             const Tokenizer& tokenizer);

}  // namespace lockstep
