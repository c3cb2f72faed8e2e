// The byte-level alphabet of GPT-2: every byte is written as one printable character, so that
// vocab.json and merges.txt are readable text. Source: bytes_to_unicode() in openai/gpt-2,
// src/encoder.py: '!'..'~', U+00A1..U+00AC and U+00AE..U+00FF stand for themselves, the other 68
// bytes in order for U+0100, U+0101, ... (space is U+0120, newline U+010A).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// The character that stands for a byte, in UTF-8.
std::string byte_level_symbol(std::uint8_t byte);

/// The characters that stand for the bytes of `bytes`.
std::string byte_level_text(std::string_view bytes);

/// The bytes that byte-level text stands for; nothing if a character is not in the alphabet.
std::optional<std::string> bytes_of_byte_level(std::string_view text);

}  // namespace lockstep
