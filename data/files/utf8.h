// Strict UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

struct Utf8Character {
  char32_t code_point;
  std::size_t bytes;
};

/// The character that begins at `offset` < text.size(); nothing if the bytes there are not UTF-8.
std::optional<Utf8Character> decode_utf8(std::string_view text, std::size_t offset);

/// Appends a code point.
void append_utf8(std::string& out, char32_t code_point);

/// The end of the longest valid UTF-8 text that begins at `offset`.
std::size_t end_of_utf8(std::string_view text, std::size_t offset);

/// Whether these bytes, one or more, are the beginning of some character but not all of it.
bool begins_character(std::string_view bytes);

/// Makes valid text from bytes that arrive piece by piece. Invalid bytes become U+FFFD, one for
/// each "maximal subpart" (the Unicode Standard, 3.9), as in Rust's String::from_utf8_lossy.
class Utf8Repair {
 public:
  /// Whole characters; holds back the first bytes of a character that may continue.
  std::string add(std::string_view bytes);
  /// U+FFFD for held-back bytes.
  std::string finish();

 private:
  std::string begun_;
};

/// The same for all bytes at once.
std::string valid_utf8(std::string_view bytes);

/// The number of characters; a byte that is not UTF-8 counts as one.
std::size_t count_characters(std::string_view text);

/// The offset of character number `count`, counted in the same way; text.size() if there are fewer.
std::size_t character_offset(std::string_view text, std::size_t count);

/// For messages: "'é' (U+00E9)"; control characters only by number: "U+000A".
std::string describe_character(char32_t code_point);

}  // namespace lockstep
