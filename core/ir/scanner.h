// Characters, words, numbers and errors with positions: the lower half of the parser of text.h.
// Positions are offsets; line and column are computed only for an error.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  /// The offset of the next character that is neither white space nor comment.
  std::size_t position();
  bool at_end() { return position() == text_.size(); }
  bool next_is(char c) { return !at_end() && text_[at_] == c; }
  bool accept(char c);
  void expect(char c, std::string_view what);
  /// The next word (letters, digits, '_', '.'); may be empty.
  std::string_view peek_word();
  std::string_view word(std::string_view what);
  bool accept_word(std::string_view keyword);
  /// A number's characters: digits, sign, point, exponent; also true, inf, nan(0x...).
  std::string_view number();
  std::int64_t integer(std::string_view what);
  std::string quoted();

  /// Error kUsage "file:line:column: message".
  template <class... Args>
  [[noreturn]] void fail(std::size_t position, fmt::format_string<Args...> format, Args&&... args) {
    fail_at(position, fmt::format(format, std::forward<Args>(args)...));
  }
  /// "expected X, found 'Y'" at the next character.
  [[noreturn]] void fail_expected(std::string_view what);

 private:
  [[noreturn]] void fail_at(std::size_t position, const std::string& message);
  void skip_space();
  void escape(std::string& out);

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
};

}  // namespace lockstep
