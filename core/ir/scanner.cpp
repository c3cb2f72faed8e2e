#include "core/ir/scanner.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"

namespace lockstep {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

}  // namespace

std::size_t Scanner::position() {
  skip_space();
  return at_;
}

bool Scanner::accept(char c) {
  if (at_end() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void Scanner::expect(char c, std::string_view what) {
  if (!accept(c)) fail_expected(what);
}

std::string_view Scanner::peek_word() {
  std::size_t end = position();
  while (end < text_.size() && is_word(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view Scanner::word(std::string_view what) {
  const std::string_view out = peek_word();
  if (out.empty()) fail_expected(what);
  at_ += out.size();
  return out;
}

bool Scanner::accept_word(std::string_view keyword) {
  if (peek_word() != keyword) return false;
  at_ += keyword.size();
  return true;
}

std::string_view Scanner::number() {
  std::size_t end = position();
  while (end < text_.size() && (is_word(text_[end]) || text_[end] == '-' || text_[end] == '+' ||
                                (text_[end] == '(' && end - at_ == 3)))
    ++end;
  if (end < text_.size() && text_[end] == ')' && end - at_ > 4 && text_[at_ + 3] == '(') ++end;
  const std::string_view out = text_.substr(at_, end - at_);
  if (out.empty()) fail_expected("a number");
  at_ = end;
  return out;
}

std::int64_t Scanner::integer(std::string_view what) {
  const std::size_t start = position();
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
  if (error == std::errc::result_out_of_range) fail(start, "the integer does not fit 64 bits");
  if (error != std::errc()) fail_expected(what);
  at_ = static_cast<std::size_t>(end - text_.data());
  return out;
}

std::string Scanner::quoted() {
  const std::size_t start = position();
  expect('"', "a string in quotes");
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    if (text_[at_] == '\\') {
      escape(out);
    } else {
      out += text_[at_++];
    }
  }
  if (at_ == text_.size() || text_[at_] != '"') fail(start, "the string is not closed");
  ++at_;
  return out;
}

void Scanner::fail_expected(std::string_view what) {
  const std::size_t start = position();
  if (at_end()) fail(start, "expected {}, but the text ends", what);
  const std::string_view word = peek_word();
  const char c = text_[start];
  if (!word.empty()) fail(start, "expected {}, found '{}'", what, word.substr(0, 40));
  if (c > 0x20 && c < 0x7f) fail(start, "expected {}, found '{}'", what, c);
  fail(start, "expected {}, found the byte {:#04x}", what,
       static_cast<unsigned>(static_cast<unsigned char>(c)));
}

void Scanner::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (text_.substr(at_).starts_with("//")) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

void Scanner::escape(std::string& out) {
  const std::size_t start = at_++;
  if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\\')) {
    out += text_[at_++];
    return;
  }
  const std::string_view rest = text_.substr(at_);
  unsigned value = 0;
  if (rest.size() >= 3 && rest[0] == 'x' &&
      std::from_chars(rest.data() + 1, rest.data() + 3, value, 16).ptr == rest.data() + 3) {
    out += static_cast<char>(value);
    at_ += 3;
    return;
  }
  fail(start, "expected one of the escapes \\\", \\\\ and \\xNN");
}

void Scanner::fail_at(std::size_t position, const std::string& message) {
  const std::string_view before = text_.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? position : position - newline - 1;
  raise(ErrorKind::kUsage, "{}:{}:{}: {}", file_, line, column + 1, message);
}

}  // namespace lockstep
