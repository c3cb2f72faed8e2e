// What the components of a tokenizer ask of Unicode characters, answered by ICU. Texts are UTF-8;
// code points are checked by the caller (utf8.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

enum class NormalForm : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };

/// Unicode's normalization forms (UAX #15).
std::string normalize(std::string_view text, NormalForm form);

/// Each character's lower case, whatever stands around it (no final sigma).
std::string lowercase(std::string_view text);

bool is_white_space(char32_t character);  ///< the property White_Space
bool is_punctuation(char32_t character);  ///< ASCII's punctuation and symbols, and categories P*
bool is_numeric(char32_t character);      ///< categories N*
bool is_control(char32_t character);      ///< categories Cc, Cf, Co, Cs
bool is_mark(char32_t character);         ///< categories M*
bool is_nonspacing_mark(char32_t character);  ///< category Mn
/// What regular expressions call \w: letters, marks, decimal digits, connectors, joiners (UTS #18).
bool is_word_character(char32_t character);

}  // namespace lockstep
