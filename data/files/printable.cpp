#include "data/files/printable.h"

#include <fmt/format.h>

#include "data/files/utf8.h"

namespace lockstep {
namespace {

bool is_control_code(char32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text, at);
    const std::string_view bytes = text.substr(at, character ? character->bytes : 1);
    at += bytes.size();
    if (character && !is_control_code(character->code_point)) {
      out += bytes;
    } else if (bytes == "\n") {
      out += "\\n";
    } else if (bytes == "\t") {
      out += "\\t";
    } else {
      for (const char byte : bytes)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  return out;
}

}  // namespace lockstep
