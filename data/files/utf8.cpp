#include "data/files/utf8.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace lockstep {
namespace {

constexpr const char* kReplacement = "\uFFFD";

std::size_t step_at(std::string_view text, std::size_t offset) {
  const auto character = decode_utf8(text, offset);
  return character ? character->bytes : 1;
}

}  // namespace

std::optional<Utf8Character> decode_utf8(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return Utf8Character{lead, 1};
  // The smallest code point that may use this many bytes; a smaller one is an overlong form.
  std::size_t bytes = 0;
  char32_t smallest = 0;
  char32_t code_point = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    bytes = 2, smallest = 0x80, code_point = lead & 0x1FU;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    bytes = 3, smallest = 0x800, code_point = lead & 0x0FU;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    bytes = 4, smallest = 0x10000, code_point = lead & 0x07U;
  } else {
    return std::nullopt;
  }
  if (text.size() - offset < bytes) return std::nullopt;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return std::nullopt;
    code_point = code_point << 6 | (byte(i) & 0x3FU);
  }
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < smallest || code_point > 0x10FFFF || surrogate) return std::nullopt;
  return Utf8Character{code_point, bytes};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t bits) {
    out += static_cast<char>(static_cast<unsigned char>(bits));
  };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0U | code_point >> 6);
    put(0x80U | (code_point & 0x3FU));
  } else if (code_point < 0x10000) {
    put(0xE0U | code_point >> 12);
    put(0x80U | (code_point >> 6 & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  } else {
    put(0xF0U | code_point >> 18);
    put(0x80U | (code_point >> 12 & 0x3FU));
    put(0x80U | (code_point >> 6 & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  }
}

std::size_t end_of_utf8(std::string_view text, std::size_t offset) {
  while (offset < text.size()) {
    // Eight bytes of ASCII at once.
    std::uint64_t eight = 0;
    while (text.size() - offset >= sizeof eight) {
      std::memcpy(&eight, text.data() + offset, sizeof eight);
      if ((eight & 0x8080808080808080U) != 0) break;
      offset += sizeof eight;
    }
    if (offset == text.size()) break;
    const auto character = decode_utf8(text, offset);
    if (!character) break;
    offset += character->bytes;
  }
  return offset;
}

bool begins_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const std::size_t size = lead < 0xC2   ? 1
                           : lead < 0xE0 ? 2
                           : lead < 0xF0 ? 3
                           : lead < 0xF5 ? 4
                                         : 1;
  if (bytes.size() >= size) return false;
  // The first byte restricts only the second; 0x80 represents any byte after it.
  return bytes.size() == 1 ||
         decode_utf8(std::string(bytes).append(size - bytes.size(), '\x80'), 0).has_value();
}

std::string Utf8Repair::add(std::string_view bytes) {
  std::string all = std::move(begun_);
  all += bytes;
  begun_.clear();
  std::string out;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = end_of_utf8(all, at);
    out.append(all, at, end - at);
    at = end;
    if (at == all.size()) break;
    std::string_view subpart = std::string_view(all).substr(at, 3);
    if (at + subpart.size() == all.size() && begins_character(subpart)) {
      begun_ = subpart;
      break;
    }
    while (subpart.size() > 1 && !begins_character(subpart)) subpart.remove_suffix(1);
    out += kReplacement;
    at += subpart.size();
  }
  return out;
}

std::string Utf8Repair::finish() {
  return std::exchange(begun_, "").empty() ? "" : kReplacement;
}

std::string valid_utf8(std::string_view bytes) {
  Utf8Repair repair;
  std::string out = repair.add(bytes);
  return out += repair.finish();
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += step_at(text, at)) ++count;
  return count;
}

std::size_t character_offset(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; count > 0 && at < text.size(); --count) at += step_at(text, at);
  return at;
}

std::string describe_character(char32_t code_point) {
  auto number = fmt::format("U+{:04X}", static_cast<std::uint32_t>(code_point));
  const bool control = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
  if (control) return number;
  std::string glyph;
  append_utf8(glyph, code_point);
  return fmt::format("'{}' ({})", glyph, number);
}

}  // namespace lockstep
