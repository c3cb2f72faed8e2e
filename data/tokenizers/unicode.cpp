#include "data/tokenizers/unicode.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <algorithm>

#include "core/base/error.h"
#include "data/tokenizers/utf8.h"

namespace lockstep {
namespace {

const icu::Normalizer2& normalizer(NormalForm form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* out = [&] {
    switch (form) {
      case NormalForm::kNfc: return icu::Normalizer2::getNFCInstance(status);
      case NormalForm::kNfd: return icu::Normalizer2::getNFDInstance(status);
      case NormalForm::kNfkc: return icu::Normalizer2::getNFKCInstance(status);
      case NormalForm::kNfkd: return icu::Normalizer2::getNFKDInstance(status);
    }
    __builtin_unreachable();
  }();
  LS_CHECK(U_SUCCESS(status), "ICU has no normalizer: {}", u_errorName(status));
  return *out;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool in_category(char32_t character, std::uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(character)) & mask) != 0;
}

}  // namespace

std::string normalize(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  UErrorCode status = U_ZERO_ERROR;
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  LS_USER_CHECK(text.size() <= INT32_MAX, "a text of {} bytes is too long to be normalized",
                text.size());
  normalizer(form).normalizeUTF8(
      0, icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())), sink, nullptr,
      status);
  LS_CHECK(U_SUCCESS(status), "ICU cannot normalize: {}", u_errorName(status));
  return out;
}

std::string lowercase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      out += static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
      ++at;
      continue;
    }
    const auto character = decode_utf8(text, at);
    LS_CHECK(character.has_value(), "lowercase() of what is not UTF-8");
    at += character->bytes;
    if (character->code_point == 0x130) {
      out += "i\u0307";  // the one character whose lower case is two
    } else {
      append_utf8(out,
                  static_cast<char32_t>(u_tolower(static_cast<UChar32>(character->code_point))));
    }
  }
  return out;
}

bool is_white_space(char32_t character) {
  return u_isUWhiteSpace(static_cast<UChar32>(character)) != 0;
}

bool is_punctuation(char32_t character) {
  if (character < 0x80)
    return (character >= '!' && character <= '/') || (character >= ':' && character <= '@') ||
           (character >= '[' && character <= '`') || (character >= '{' && character <= '~');
  return in_category(character, U_GC_P_MASK);
}

bool is_numeric(char32_t character) {
  return in_category(character, U_GC_N_MASK);
}

bool is_control(char32_t character) {
  return in_category(character, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK | U_GC_CS_MASK);
}

bool is_mark(char32_t character) {
  return in_category(character, U_GC_M_MASK);
}

bool is_nonspacing_mark(char32_t character) {
  return in_category(character, U_GC_MN_MASK);
}

bool is_word_character(char32_t character) {
  const auto code_point = static_cast<UChar32>(character);
  return u_isUAlphabetic(code_point) != 0 ||
         in_category(character, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) ||
         u_hasBinaryProperty(code_point, UCHAR_JOIN_CONTROL) != 0;
}

}  // namespace lockstep
