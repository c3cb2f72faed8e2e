// The properties of Unicode characters that the components of a tokenizer use, as in
// huggingface/tokenizers 0.23.2. Texts are UTF-8; code points are checked by the caller (utf8.h).
//
// Its parts follow different versions of Unicode. ICU 72 follows 15.0 and has the version that
// introduced each character (u_charAge); for a part, later characters do not exist. Characters
// newer than ICU's, and the few that changed, are in tables. docs/guides/tokenizers.md lists the
// remaining differences.
//
//   8.0   punctuation, all of BertNormalizer but lower case (crate unicode_categories 0.1.1)
//   9.0   normalization forms, StripAccents (crate unicode-normalization-alignments 0.1.12)
//   16.0  word characters (crate regex-syntax 0.8)
//   17.0  numbers, lower case (Rust's char); White_Space is the same in all of these
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

enum class NormalForm : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };

/// Unicode's normalization forms (UAX #15), of 9.0.
std::string normalize(std::string_view text, NormalForm form);

/// Each character's lower case, independent of its neighbours (no final sigma), of 17.0.
std::string lowercase(std::string_view text);

bool is_white_space(char32_t character);      ///< the property White_Space
bool is_punctuation(char32_t character);      ///< ASCII's punctuation and symbols, and P* of 8.0
bool is_numeric(char32_t character);          ///< categories N* of 17.0
bool is_control(char32_t character);          ///< categories Cc, Cf, Co, Cs of 8.0
bool is_mark(char32_t character);             ///< categories M* of 9.0
bool is_nonspacing_mark(char32_t character);  ///< category Mn of 8.0
/// The class \w of regular expressions: letters, marks, decimal digits, connectors, joiners (UTS
/// #18), of 16.0.
bool is_word_character(char32_t character);

}  // namespace lockstep
