#include "data/tokenizers/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/tokenizers/regex_syntax.h"

namespace lockstep {
namespace {

constexpr std::size_t kLongestPattern = 20'000;

// Limits for each place of a text: the number of calls of PCRE2's match function, and the bytes
// after the place that each call may read.
constexpr std::uint32_t kFewCalls = 128;
constexpr std::size_t kWindow = 512;
// Steps per byte of a text, shared by all places that need more than that.
constexpr std::uint64_t kMoreSteps = 16384;
constexpr std::uint32_t kMaxMemory = 256 << 10;  // KiB, for the interpreter's memory

struct Range {
  std::size_t begin;
  std::size_t end;
};

std::size_t after_character(std::string_view text, std::size_t at) {
  const auto character = decode_utf8(text, at);
  return at + (character ? character->bytes : 1);
}

struct MatchMemory {
  explicit MatchMemory(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)) {
    LS_CHECK(data != nullptr && context != nullptr, "PCRE2 is out of memory");
    pcre2_set_heap_limit(context, kMaxMemory);
  }
  ~MatchMemory() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
  MatchMemory(const MatchMemory&) = delete;
  MatchMemory& operator=(const MatchMemory&) = delete;
  pcre2_match_data* data;
  pcre2_match_context* context;
};

}  // namespace

struct Regex::Expression {
  struct Code {
    Code(const std::string& pattern, std::uint32_t options, const std::string& shown,
         const std::string& place) {
      int error = 0;
      std::size_t offset = 0;
      code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                           PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | options, &error, &offset,
                           nullptr);
      if (code != nullptr) return;
      char message[256] = {};
      pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message), sizeof message);
      raise(ErrorKind::kData, "{}: the regular expression \"{}\" is not valid: {}", place, shown,
            message);
    }
    ~Code() { pcre2_code_free(code); }
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
    pcre2_code* code = nullptr;
  };

  Expression(std::string pattern, std::string place)
      : shown(std::move(pattern)),
        place(std::move(place)),
        translated(pcre2_pattern(shown, this->place)),
        search(translated, 0, shown, this->place),
        // Otherwise a loop with counted steps could become one with hidden steps.
        alone(translated, PCRE2_ANCHORED | PCRE2_NO_AUTO_POSSESS, shown, this->place),
        hides_steps(lockstep::hides_steps(shown)) {
    // If the machine does not allow just-in-time code, the interpreter matches.
    jit = pcre2_jit_compile(search.code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD) == 0;
  }

  std::string shown;
  std::string place;
  std::string translated;
  Code search;       ///< from any place, fast
  Code alone;        ///< at one place, by the interpreter, which counts its steps
  bool hides_steps;  ///< except some of them
  bool jit;
};

namespace {

/// The matches in one text.
template <class Expression>
class Search {
 public:
  Search(const Expression& expression, std::string_view text)
      : expression_(expression),
        text_(text),
        memory_(expression.search.code),
        steps_left_(kMoreSteps * std::max<std::uint64_t>(text.size(), 1)) {}

  /// The first match that begins at `at` or later.
  std::optional<Range> next(std::size_t at) {
    std::optional<std::size_t> alone_until;
    for (;;) {
      const bool alone = alone_until && at <= *alone_until;
      const std::size_t end = window_end(at, kWindow);
      Outcome outcome = attempt(at, end, kFewCalls, alone);
      if (outcome.kind == Kind::kTooManyCalls && !alone) {
        alone_until = end;  // some place up to there needs them
        continue;
      }
      if (outcome.kind == Kind::kCut && outcome.range.begin > at) {
        at = outcome.range.begin;
        continue;
      }
      const bool insisted = outcome.kind != Kind::kMatch && outcome.kind != Kind::kNone;
      if (insisted) outcome = insist(at, outcome.kind);
      if (outcome.kind == Kind::kMatch) return outcome.range;
      const bool only_here = insisted || alone;
      if ((only_here ? at : end) == text_.size()) return std::nullopt;
      at = only_here ? after_character(text_, at) : end;
    }
  }

 private:
  enum class Kind { kMatch, kNone, kCut, kTooManyCalls };
  struct Outcome {
    Kind kind;
    Range range = {};
  };

  std::size_t window_end(std::size_t at, std::size_t size) const {
    if (text_.size() - at <= size) return text_.size();
    std::size_t end = at + size;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0U) == 0x80U) ++end;
    return end;
  }

  /// A match in the text before `end`; kCut, and where it would begin, if that depends on the text
  /// after it. Without checks of UTF-8: the caller has checked, and each call would check
  /// everything.
  Outcome attempt(std::size_t at, std::size_t end, std::uint32_t calls, bool alone) {
    pcre2_set_match_limit(memory_.context, calls);
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
    const std::uint32_t options = end < text_.size() ? PCRE2_PARTIAL_HARD : 0;
    int result = PCRE2_ERROR_JIT_STACKLIMIT;
    if (expression_.jit && !alone)
      result = pcre2_jit_match(expression_.search.code, subject, end, at, options, memory_.data,
                               memory_.context);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT)
      result =
          pcre2_match(alone ? expression_.alone.code : expression_.search.code, subject, end, at,
                      options | PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, memory_.data, memory_.context);
    if (result == PCRE2_ERROR_NOMATCH) return {Kind::kNone};
    if (result == PCRE2_ERROR_MATCHLIMIT) return {Kind::kTooManyCalls};
    if (result < 0 && result != PCRE2_ERROR_PARTIAL) refuse("more memory than allowed");
    const std::size_t* range = pcre2_get_ovector_pointer(memory_.data);
    const bool cut = result == PCRE2_ERROR_PARTIAL || (range[1] == end && end < text_.size());
    return {cut ? Kind::kCut : Kind::kMatch, {range[0], range[1]}};
  }

  /// At one place that needs more steps than others, while steps are left.
  Outcome insist(std::size_t at, Kind reason) {
    std::size_t window = kWindow;
    std::uint64_t calls = kFewCalls;
    for (;;) {
      if (reason == Kind::kCut) window *= 4;
      if (reason == Kind::kTooManyCalls) calls *= 4;
      const std::size_t end = window_end(at, window);
      // A call reads one character or, if steps are hidden, perhaps all.
      const std::uint64_t cost =
          expression_.hides_steps ? calls * (end - at + 1) : calls + (end - at);
      if (cost > steps_left_ || calls > UINT32_MAX) refuse("more steps than allowed");
      steps_left_ -= cost;
      const Outcome out = attempt(at, end, static_cast<std::uint32_t>(calls), true);
      reason = out.kind;
      if (reason == Kind::kMatch || reason == Kind::kNone) return out;
    }
  }

  [[noreturn]] void refuse(std::string_view what) const {
    const std::string_view shown(expression_.shown);
    const std::size_t end = character_offset(shown, 200);
    raise(ErrorKind::kData,
          "{}: the regular expression \"{}{}\" takes {} in a text of {} bytes: remove alternatives "
          "that match the same and nested repetitions from it, or use another tokenizer",
          expression_.place, shown.substr(0, end), end < shown.size() ? "..." : "", what,
          text_.size());
  }

  const Expression& expression_;
  std::string_view text_;
  MatchMemory memory_;
  std::uint64_t steps_left_;
};

std::optional<Range> find_literal(std::string_view text, std::string_view literal, std::size_t at) {
  const std::size_t begin = text.find(literal, at);
  if (begin == text.npos) return std::nullopt;
  return Range{begin, begin + literal.size()};
}

}  // namespace

Regex::Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex::~Regex() = default;

Regex::Regex(const std::string& pattern, const std::string& place) {
  if (pattern.size() > kLongestPattern)
    raise(ErrorKind::kData, "{}: a regular expression of {} bytes is too long", place,
          pattern.size());
  expression_ = std::make_unique<Expression>(pattern, place);
}

Regex Regex::of_literal(std::string text) {
  Regex out;
  out.literal_ = std::move(text);
  return out;
}

void Regex::for_each_match(std::string_view text,
                           const std::function<void(std::size_t, std::size_t)>& f) const {
  std::optional<Search<Expression>> search;
  if (expression_ != nullptr) search.emplace(*expression_, text);
  std::optional<std::size_t> last_end;
  for (std::size_t at = 0; at <= text.size();) {
    const auto range = search ? search->next(at) : find_literal(text, literal_, at);
    if (!range) return;
    const auto [begin, end] = *range;
    // An empty match directly after another match does not count; the search continues a character
    // later.
    if (begin != end || last_end != end) f(begin, end);
    last_end = end;
    at = end;
    if (begin < end) continue;
    if (end == text.size()) return;
    at = after_character(text, end);
  }
}

}  // namespace lockstep
