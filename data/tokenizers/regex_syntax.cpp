#include "data/tokenizers/regex_syntax.h"

#include <unicode/uchar.h>

#include <vector>

#include "core/base/error.h"

namespace lockstep {
namespace {

// The contents of sets.
constexpr std::string_view kSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNotSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{N}\p{Pc})";
constexpr std::string_view kHexadecimal = "0-9a-fA-F";

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& place)
      : pattern_(pattern), place_(place) {}

  std::string run() {
    while (at_ < pattern_.size()) step();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    raise(ErrorKind::kData,
          "{}: the regular expression \"{}\" has {} at byte {}, which is not "
          "supported",
          place_, pattern_, what, at_);
  }
  bool follows(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  void copy(std::size_t count) {
    out_ += pattern_.substr(at_, count);
    at_ += std::min(count, pattern_.size() - at_);
  }
  void put(std::size_t count, std::string_view text) {
    out_ += text;
    at_ += count;
  }

  void step() {
    const char c = pattern_[at_];
    if (c == '\\') return in_set_ ? escape_in_set() : escape();
    if (in_set_) return in_set();
    if (c == '[') {
      in_set_ = true;
      copy(1);
      if (at_ < pattern_.size() && pattern_[at_] == '^') copy(1);
      if (at_ < pattern_.size() && pattern_[at_] == ']') put(1, "\\]");
      return;
    }
    if (c == '(') return group();
    if (c == '}' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] == '+') refuse("'}+'");
    copy(1);
  }

  void in_set() {
    if (pattern_[at_] == ']') {
      in_set_ = false;
      return copy(1);
    }
    if (follows("&&")) refuse("an intersection of sets");
    if (follows("[:")) {
      const std::size_t end = pattern_.find(":]", at_);
      if (end == pattern_.npos) refuse("'[:' without ':]'");
      return copy(end + 2 - at_);
    }
    if (pattern_[at_] == '[') refuse("a set within a set");
    copy(1);
  }

  void group() {
    if (follows("(?<") && !follows("(?<=") && !follows("(?<!")) refuse("a named group");
    for (const char* known : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"})
      if (follows(known)) return copy(std::string_view(known).size());
    if (follows("(?")) {
      const std::size_t end = pattern_.find_first_of(":)", at_);
      const std::string_view flags =
          pattern_.substr(at_ + 2, end == pattern_.npos ? end : end - at_ - 2);
      if (flags != "i" && flags != "-i") refuse("an option or kind of group");
    }
    if (follows("(*")) refuse("'(*'");
    copy(1);
  }

  void escape() {
    if (at_ + 1 == pattern_.size()) refuse("a last backslash");
    const auto set = [&](std::string_view inside) { put(2, "[" + std::string(inside) + "]"); };
    const auto none_of = [&](std::string_view inside) { put(2, "[^" + std::string(inside) + "]"); };
    const std::string in = "[" + std::string(kWord) + "]";
    switch (pattern_[at_ + 1]) {
      case 's': return set(kSpace);
      case 'S': return none_of(kSpace);
      case 'w': return set(kWord);
      case 'W': return none_of(kWord);
      case 'd': return put(2, "\\p{Nd}");
      case 'D': return put(2, "\\P{Nd}");
      case 'h': return set(kHexadecimal);
      case 'H': return none_of(kHexadecimal);
      case 'b': return put(2, "(?:(?<=" + in + ")(?!" + in + ")|(?<!" + in + ")(?=" + in + "))");
      case 'B': return put(2, "(?:(?<=" + in + ")(?=" + in + ")|(?<!" + in + ")(?!" + in + "))");
      default: return other_escape();
    }
  }

  void escape_in_set() {
    if (at_ + 1 == pattern_.size()) refuse("a last backslash");
    switch (pattern_[at_ + 1]) {
      case 's': return put(2, kSpace);
      case 'S': return put(2, kNotSpace);
      case 'w': return put(2, kWord);
      case 'W': refuse("\\W in a set");
      case 'd': return put(2, "\\p{Nd}");
      case 'D': return put(2, "\\P{Nd}");
      case 'h': return put(2, kHexadecimal);
      default: return other_escape();
    }
  }

  void other_escape() {
    const char c = pattern_[at_ + 1];
    switch (c) {
      case 'p':
      case 'P':
      case 'x': {  // \p{L}, \x{1F}, \x1F
        const bool braced = at_ + 2 < pattern_.size() && pattern_[at_ + 2] == '{';
        if (c != 'x' && !braced) refuse("a property without braces");
        const std::size_t end = braced ? pattern_.find('}', at_) : at_ + 1;
        if (end == pattern_.npos) refuse("'{' without '}'");
        if (c != 'x') script(end);
        return copy(end + 1 - at_);
      }
      case 'u':  // \u00A0
        if (pattern_.size() < at_ + 6) refuse("\\u without four digits");
        return put(6, "\\x{" + std::string(pattern_.substr(at_ + 2, 4)) + "}");
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'v':
      case 'a':
      case 'e':
      case 'A':
      case 'z':
      case 'Z': return c == 'v' ? put(2, "\\x{b}") : copy(2);
      default: break;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) refuse(fmt::format("\\{}", c));
    copy(2);
  }

  /// Writes \p{Han}, which ends at `end`, up to the name, if it is the name of a script: PCRE2
  /// would otherwise also match all characters that are used in the script.
  void script(std::size_t end) {
    const std::size_t begin = at_ + (follows("\\p{^") || follows("\\P{^") ? 4 : 3);
    const std::string name(pattern_.substr(begin, end - begin));
    if (u_getPropertyValueEnum(UCHAR_SCRIPT, name.c_str()) == UCHAR_INVALID_CODE) return;
    copy(begin - at_);
    out_ += "sc:";
  }

  std::string_view pattern_;
  const std::string& place_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_set_ = false;
};

}  // namespace

std::string pcre2_pattern(std::string_view oniguruma, const std::string& place) {
  return Translator(oniguruma, place).run();
}

bool hides_steps(std::string_view oniguruma) {
  std::vector<bool> hidden = {false};  // of each open group
  bool in_set = false;
  for (std::size_t at = 0; at < oniguruma.size(); ++at) {
    const char c = oniguruma[at];
    const std::string_view rest = oniguruma.substr(at + 1);
    if (c == '\\') {
      ++at;
    } else if (in_set) {
      in_set = c != ']';
    } else if (c == '[') {
      in_set = true;
      if (rest.starts_with('^')) ++at;
      if (oniguruma.substr(at + 1).starts_with(']')) ++at;
    } else if (c == '(') {
      const bool goes_back = !rest.starts_with('?') || rest.starts_with("?:") ||
                             rest.starts_with("?i") || rest.starts_with("?-");
      hidden.push_back(hidden.back() || !goes_back);
    } else if (c == ')') {
      if (hidden.size() > 1) hidden.pop_back();
    } else if (c == '*' || c == '+' || c == '{') {
      if (hidden.back() || rest.starts_with('+')) return true;
    }
  }
  return false;
}

}  // namespace lockstep
