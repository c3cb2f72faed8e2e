// WordPiece: from the left, the longest token that the rest of the word begins with; a token that
// is not the first of its word begins with a prefix. A word that cannot be split into tokens, or
// has more than max_input_chars_per_word characters, becomes the unk token. Source:
// google-research/bert, tokenization.py, and huggingface/tokenizers,
// tokenizers/src/models/wordpiece/mod.rs.
#pragma once

#include "data/tokenizers/token_model.h"

namespace lockstep {

class WordPieceModel final : public TokenModel {
 public:
  explicit WordPieceModel(const JsonPlace& json);

  void encode(std::string_view word, std::vector<std::int32_t>& out) const override;
  const std::string& continuing_prefix() const override { return prefix_; }
  std::optional<std::int32_t> unk() const override { return unk_; }

 private:
  std::string prefix_;
  std::int32_t unk_;
  std::size_t longest_word_;  ///< in characters
};

}  // namespace lockstep
