#include "data/tokenizers/byte_level.h"

#include <array>

#include "data/files/utf8.h"

namespace lockstep {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr std::size_t kStandIns = 68;

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> character_of{};
  std::array<std::uint8_t, kFirstStandIn + kStandIns> byte_of{};
  std::array<bool, kFirstStandIn + kStandIns> known{};
};

constexpr Alphabet make_alphabet() {
  Alphabet out;
  char32_t stand_in = kFirstStandIn;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t character = stands_for_itself(byte) ? byte : stand_in++;
    out.character_of[byte] = character;
    out.byte_of[character] = static_cast<std::uint8_t>(byte);
    out.known[character] = true;
  }
  return out;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string byte_level_symbol(std::uint8_t byte) {
  std::string out;
  append_utf8(out, kAlphabet.character_of[byte]);
  return out;
}

std::string byte_level_text(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char byte : bytes)
    append_utf8(out, kAlphabet.character_of[static_cast<unsigned char>(byte)]);
  return out;
}

std::optional<std::string> bytes_of_byte_level(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text, at);
    if (!character || character->code_point >= kAlphabet.known.size() ||
        !kAlphabet.known[character->code_point]) {
      return std::nullopt;
    }
    out += static_cast<char>(kAlphabet.byte_of[character->code_point]);
    at += character->bytes;
  }
  return out;
}

}  // namespace lockstep
