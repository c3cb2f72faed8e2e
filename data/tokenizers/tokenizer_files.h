// Tokenizers from files other than tokenizer.json (load_tokenizer detects them), and from a text.
#pragma once

#include <string>
#include <string_view>

#include "data/tokenizers/tokenizer.h"

namespace lockstep {

/// Hugging Face's and OpenAI's pair of files: vocab.json (encoder.json) and merges.txt
/// (vocab.bpe). Error kData naming the file, and the line of merges.txt.
TokenizerPtr read_gpt2_tokenizer(const std::string& vocab_path, const std::string& merges_path);

/// One token per character (code point) of `text`, in code point order: nanoGPT's
/// data/shakespeare_char/prepare.py. `name` is its file. Error kData naming the byte if it is not
/// UTF-8.
TokenizerPtr character_tokenizer(const std::string& name, std::string_view text);

}  // namespace lockstep
