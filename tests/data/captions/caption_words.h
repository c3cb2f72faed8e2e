// A tokenizer whose tokens are words: "a" 0 to "e" 4, then [PAD] 5, [BOS] 6, [EOS] 7, [UNK] 8.
#pragma once

#include "data/captions/caption_fields.h"
#include "data/tokenizers/tokenizer_documents.h"

namespace lockstep {

inline TokenizerPtr words_a_to_e() {
  return tokenizer_of_document(
      word_piece_document({"a", "b", "c", "d", "e", "[PAD]", "[BOS]", "[EOS]", "[UNK]"},
                          /*lowercase=*/false, {"[BOS]", "[EOS]"}),
      "a to e");
}

inline constexpr CaptionFrame kWordFrame{.start = 6, .end = 7, .pad = 5};

}  // namespace lockstep
