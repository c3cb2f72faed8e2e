// The regular expressions of a tokenizer.json. They are written for Oniguruma (Ruby's syntax) and
// matched by PCRE2. The two differ, so a pattern is rewritten to keep its meaning:
//
//   \s \S    Unicode's White_Space; PCRE2's own has U+180E as well
//   \w \W \b letters, marks, numbers, connectors; PCRE2's has letters, numbers and _
//   \d \D    category Nd
//   \h \H    hexadecimal digits; PCRE2 takes it for horizontal space
//   ^ $      at every line
//   \p{Han}  the characters of a script; PCRE2 takes it for those used in the script
//
// Constructs without an equivalent in PCRE2 are refused: sets within sets and their intersection, a
// possessive {n,m}+ (in Ruby a repeated repetition), calls of groups, (?m), \K and \G.
//
// The work on a text is bounded by its length, whatever the pattern. Each place may use 128 calls
// of PCRE2's match function, which read within 512 bytes: less than 2^16 steps, where a step tries
// one item of the pattern at one character. Places that need more share a budget of 16384 steps for
// each byte of the text. Words of usual tokenizers take some tens of steps.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

class Regex {
 public:
  /// Error kData, beginning with `place`, for a pattern that cannot be compiled or is refused.
  Regex(const std::string& pattern, const std::string& place);
  /// An expression that matches exactly these characters.
  static Regex of_literal(std::string text);
  ~Regex();
  Regex(Regex&&) noexcept;

  /// The characters that of_literal() was given; else "".
  std::string_view literal() const { return literal_; }
  /// Calls f(begin, end) for each match in UTF-8 text, from left to right; a match may be empty.
  /// Thread-safe. Error kData naming place, pattern and remedy if it takes too many steps.
  void for_each_match(std::string_view text,
                      const std::function<void(std::size_t, std::size_t)>& f) const;

 private:
  struct Expression;
  Regex();
  std::unique_ptr<const Expression> expression_;  ///< null for a literal
  std::string literal_;
};

}  // namespace lockstep
