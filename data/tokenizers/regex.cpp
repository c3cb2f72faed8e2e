#include "data/tokenizers/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <optional>

#include "core/base/error.h"
#include "data/tokenizers/regex_syntax.h"
#include "data/tokenizers/utf8.h"

namespace lockstep {
namespace {

// Of attempts at one match: a pattern that wants more for the text of a piece is taken for hostile.
constexpr std::uint32_t kMostAttempts = 5'000'000;
constexpr std::size_t kLongestPattern = 20'000;

struct Match {
  explicit Match(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)) {
    LS_CHECK(data != nullptr && context != nullptr, "PCRE2 is out of memory");
    pcre2_set_match_limit(context, kMostAttempts);
  }
  ~Match() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
  Match(const Match&) = delete;
  Match& operator=(const Match&) = delete;
  pcre2_match_data* data;
  pcre2_match_context* context;
};

}  // namespace

struct Regex::Code {
  Code(const std::string& pattern, std::uint32_t options, const std::string& place) {
    int error = 0;
    std::size_t offset = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                         PCRE2_UTF | options, &error, &offset, nullptr);
    if (code == nullptr) {
      char message[256] = {};
      pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message), sizeof message);
      raise(ErrorKind::kData, "{}: the regular expression \"{}\" is not valid: {}", place, pattern,
            message);
    }
    // Where the machine allows no just-in-time code, the interpreter matches.
    jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
  }
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  /// What pcre2_match returns. Checking is left out because the caller has checked, and each match
  /// would check all the rest.
  int match(std::string_view text, std::size_t at, const Match& into) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    int count = PCRE2_ERROR_JIT_STACKLIMIT;
    if (jit) count = pcre2_jit_match(code, subject, text.size(), at, 0, into.data, into.context);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT)
      count = pcre2_match(code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                          into.data, into.context);
    return count;
  }

  pcre2_code* code = nullptr;
  bool jit = false;
};

Regex::Regex(std::unique_ptr<Code> code, std::string place)
    : code_(std::move(code)), place_(std::move(place)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex::~Regex() = default;

Regex::Regex(const std::string& pattern, const std::string& place) : place_(place) {
  if (pattern.size() > kLongestPattern)
    raise(ErrorKind::kData, "{}: a regular expression of {} bytes is too long", place,
          pattern.size());
  code_ = std::make_unique<Code>(pcre2_pattern(pattern, place), PCRE2_UCP | PCRE2_MULTILINE, place);
}

Regex Regex::literal(std::string_view text, const std::string& place) {
  return {std::make_unique<Code>(std::string(text), PCRE2_LITERAL, place), place};
}

void Regex::for_each_match(std::string_view text,
                           const std::function<void(std::size_t, std::size_t)>& f) const {
  const Match match(code_->code);
  std::optional<std::size_t> last_end;
  for (std::size_t at = 0; at <= text.size();) {
    const int count = code_->match(text, at, match);
    if (count == PCRE2_ERROR_NOMATCH) return;
    if (count < 0)
      raise(ErrorKind::kData, "{}: the regular expression needs too many attempts (PCRE2 code {})",
            place_, count);
    const std::size_t* range = pcre2_get_ovector_pointer(match.data);
    const std::size_t begin = range[0];
    const std::size_t end = range[1];
    // An empty match right behind another is none, and the search goes on a character later.
    if (begin != end || last_end != end) f(begin, end);
    last_end = end;
    at = end;
    if (begin == end) {
      if (end == text.size()) return;
      const auto character = decode_utf8(text, end);
      at += character ? character->bytes : 1;
    }
  }
}

}  // namespace lockstep
