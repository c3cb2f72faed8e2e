// The regular expressions of a tokenizer.json, which are written for Oniguruma (Ruby's syntax) and
// are matched by PCRE2. The two differ, and a pattern is rewritten so that it means what it says:
//
//   \s \S    Unicode's White_Space; PCRE2's own has U+180E as well
//   \w \W \b letters, marks, numbers, connectors; PCRE2's has letters, numbers and _
//   \d \D    category Nd
//   \h \H    hexadecimal digits; PCRE2 takes it for horizontal space
//   ^ $      at every line
//
// What PCRE2 has no equal for is refused: sets within sets and their intersection, a possessive
// {n,m}+ (in Ruby a repeated repetition), calls of groups, (?m), \K and \G.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

class Regex {
 public:
  /// Error kData, which begins with `place`, for a pattern that cannot be compiled or is refused.
  Regex(const std::string& pattern, const std::string& place);
  /// What matches exactly these characters.
  static Regex literal(std::string_view text, const std::string& place);
  ~Regex();
  Regex(Regex&&) noexcept;

  /// Calls f(begin, end) for each match in UTF-8 text, from left to right; a match may be empty.
  /// Thread-safe. Error kData if the pattern takes too many attempts.
  void for_each_match(std::string_view text,
                      const std::function<void(std::size_t, std::size_t)>& f) const;

 private:
  struct Code;
  Regex(std::unique_ptr<Code> code, std::string place);
  std::unique_ptr<Code> code_;
  std::string place_;
};

}  // namespace lockstep
