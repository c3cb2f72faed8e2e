// The text of tokens that come one by one. What a token says may depend on those before it (spaces
// between WordPieces, bytes of one character), so that the texts of single tokens do not join to
// that of all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizers/tokenizer.h"

namespace lockstep {

class TextStream {
 public:
  /// `before`: tokens whose text is known already, as that of a prompt. The tokenizer must live
  /// longer.
  explicit TextStream(const Tokenizer& tokenizer, std::vector<std::int32_t> before = {});

  /// The text that one more token adds; "" as long as its last character lacks bytes.
  std::string add(std::int32_t token);
  /// What was kept back for its missing bytes.
  std::string finish();

 private:
  std::string next(bool whole_only);

  const Tokenizer& tokenizer_;
  std::vector<std::int32_t> tokens_;
  std::size_t context_;  ///< tokens before it have no influence any more
  std::size_t told_;     ///< the text of those before it was given
};

}  // namespace lockstep
