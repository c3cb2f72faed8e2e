#include "data/tokenizers/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string>

#include "core/base/error.h"
#include "data/tokenizers/utf8.h"

namespace lockstep {
namespace {

// Unicode's White_Space property, which \s means in the regex modules that GPT-2 and tiktoken use.
// PCRE2's own \s includes U+180E as well.
const std::string kSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// Source: openai/gpt-2, src/encoder.py:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
const std::string kPattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^)" + kSpace +
                             R"(\p{L}\p{N}]+|[)" + kSpace + "]+(?![^" + kSpace + "])|[" + kSpace +
                             "]+";

struct MatchData {
  explicit MatchData(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)) {
    LS_CHECK(data != nullptr, "PCRE2 is out of memory");
  }
  ~MatchData() { pcre2_match_data_free(data); }
  MatchData(const MatchData&) = delete;
  MatchData& operator=(const MatchData&) = delete;
  pcre2_match_data* data;
};

}  // namespace

struct Pretokenizer::Pattern {
  Pattern() {
    int error = 0;
    std::size_t offset = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern.data()), kPattern.size(),
                         PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
    LS_CHECK(code != nullptr, "PCRE2 error {} at {} of the pattern", error, offset);
    // Where the machine allows no just-in-time code, matching falls back to the interpreter.
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  }
  ~Pattern() { pcre2_code_free(code); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  pcre2_code* code = nullptr;
};

Pretokenizer::Pretokenizer() : pattern_(std::make_unique<Pattern>()) {}
Pretokenizer::~Pretokenizer() = default;

void Pretokenizer::split_utf8(std::string_view text, std::vector<std::string_view>& out) const {
  const MatchData match(pattern_->code);
  std::size_t at = 0;
  while (at < text.size()) {
    // Checking is left out because the caller has checked, and each match would check all the rest.
    const int count = pcre2_match(pattern_->code, reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), at, PCRE2_NO_UTF_CHECK, match.data, nullptr);
    const std::size_t* range = pcre2_get_ovector_pointer(match.data);
    LS_CHECK(count > 0 && range[0] == at && range[1] > at,
             "the pre-tokenizer stopped at byte {} with PCRE2 code {}", at, count);
    out.push_back(text.substr(at, range[1] - at));
    at = range[1];
  }
}

std::vector<std::string_view> Pretokenizer::split(std::string_view text) const {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t valid_end = end_of_utf8(text, at);
    split_utf8(text.substr(at, valid_end - at), out);
    std::size_t foreign_end = valid_end;
    while (foreign_end < text.size() && !decode_utf8(text, foreign_end)) ++foreign_end;
    if (foreign_end > valid_end) out.push_back(text.substr(valid_end, foreign_end - valid_end));
    at = foreign_end;
  }
  return out;
}

}  // namespace lockstep
