#include "data/tokenizers/unicode.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/tokenizers/newer_characters.h"

namespace lockstep {
namespace {

/// ICU's normalizer for all characters that it supports.
const icu::Normalizer2& newest_normalizer(NormalForm form) {
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

const icu::UnicodeSet& characters_of_unicode_9() {
  static const icu::UnicodeSet kSet = [] {
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeSet set(u"[:age=9.0:]", status);
    LS_CHECK(U_SUCCESS(status), "ICU has no ages: {}", u_errorName(status));
    set.freeze();
    return set;
  }();
  return kSet;
}

/// A normalizer that does not change characters newer than Unicode 9.
const icu::Normalizer2& normalizer(NormalForm form) {
  const auto of = [](NormalForm one) {
    return icu::FilteredNormalizer2(newest_normalizer(one), characters_of_unicode_9());
  };
  static const std::array kNormalizers = {of(NormalForm::kNfc), of(NormalForm::kNfd),
                                          of(NormalForm::kNfkc), of(NormalForm::kNfkd)};
  return kNormalizers[static_cast<std::size_t>(form)];
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool in_category(char32_t character, std::uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(character)) & mask) != 0;
}

/// Whether the character existed in that version of Unicode, up to 15.
bool existed_in(std::uint8_t version, char32_t character) {
  UVersionInfo age = {};
  u_charAge(static_cast<UChar32>(character), age);
  return age[0] != 0 && age[0] <= version;
}

/// Upper case in Unicode 17 but not in ICU's version; the lower case of each is `difference` away.
struct NewerUpperCase {
  char32_t first;
  char32_t last;
  std::int32_t difference;
};
constexpr auto kNewerUpperCase = std::to_array<NewerUpperCase>({{0x1C89, 0x1C89, 1},
                                                                {0xA7CB, 0xA7CB, 0x264 - 0xA7CB},
                                                                {0xA7CC, 0xA7CC, 1},
                                                                {0xA7CE, 0xA7CE, 1},
                                                                {0xA7D2, 0xA7D2, 1},
                                                                {0xA7D4, 0xA7D4, 1},
                                                                {0xA7DA, 0xA7DA, 1},
                                                                {0xA7DC, 0xA7DC, 0x19B - 0xA7DC},
                                                                {0x10D50, 0x10D65, 0x20},
                                                                {0x16EA0, 0x16EB8, 0x1B}});

char32_t lowercase(char32_t character) {
  const auto lower = static_cast<char32_t>(u_tolower(static_cast<UChar32>(character)));
  if (lower != character) return lower;
  for (const auto& [first, last, difference] : kNewerUpperCase)
    if (character >= first && character <= last)
      return static_cast<char32_t>(static_cast<std::int32_t>(character) + difference);
  return character;
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
      append_utf8(out, lowercase(character->code_point));
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
  if (character == 0x166D || character == 0x111C9) return true;  // until Unicode 12, and 11
  return in_category(character, U_GC_P_MASK) && existed_in(8, character);
}

bool is_numeric(char32_t character) {
  if (in_category(character, U_GC_N_MASK)) return true;
  if (!in_category(character, U_GC_CN_MASK)) return false;
  if (const auto category = newer_category(character)) return category->starts_with('N');
  // Of Unicode 17: digits of Tolong Siki, numbers of Chinese.
  return (character >= 0x11DE0 && character <= 0x11DE9) ||
         (character >= 0x16FF4 && character <= 0x16FF6);
}

bool is_control(char32_t character) {
  return in_category(character, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK | U_GC_CS_MASK) &&
         existed_in(8, character);
}

bool is_mark(char32_t character) {
  if (character == 0x1CF2 || character == 0x1CF3) return true;  // letters since Unicode 12
  if (character == 0x111C9) return false;                       // a mark since Unicode 11
  return in_category(character, U_GC_M_MASK) && existed_in(9, character);
}

bool is_nonspacing_mark(char32_t character) {
  switch (character) {
    case 0x1734: return true;  // until Unicode 14
    case 0x1885:
    case 0x1886:                 // since Unicode 9
    case 0xA9BD:                 // since Unicode 11
    case 0x111C9: return false;  // since Unicode 11
    default: return in_category(character, U_GC_MN_MASK) && existed_in(8, character);
  }
}

bool is_word_character(char32_t character) {
  if (character < 0x80)
    return (character >= '0' && character <= '9') || (character >= 'A' && character <= 'Z') ||
           (character >= 'a' && character <= 'z') || character == '_';
  const auto code_point = static_cast<UChar32>(character);
  if (u_isUAlphabetic(code_point) != 0 ||
      in_category(character, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) ||
      u_hasBinaryProperty(code_point, UCHAR_JOIN_CONTROL) != 0)
    return true;
  const auto category = newer_category(character);
  return category &&
         (category->starts_with('L') || category->starts_with('M') || *category == "Nd");
}

}  // namespace lockstep
