#include "core/base/json_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kPunctuation = ",:[]{}";

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/// Characters that may stand between two values.
bool is_between(char c) {
  return c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\r' || c == '\t';
}

bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

/// The input of the parser, which counts how far it has read.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

}  // namespace

/// Handles the parser's events in order, so that an invalid text is refused before its tree is
/// complete.
class JsonTreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonTreeBuilder(JsonTree& tree) : tree_(tree), text_(tree.text_) {}

  void run() {
    check_bytes();
    const std::size_t first = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    if (text_.find_first_not_of(kBlanks, first) == text_.npos)
      refuse(first, text_.empty() ? "not valid JSON: the text is empty"
                                  : "not valid JSON: the text has only blanks");
    constexpr std::size_t kFew = 16;  // as many values as a line of JSON Lines has
    tree_.nodes_.reserve(kFew);
    furthest_ = text_.data() + first;
    end_ = first;
    Json::sax_parse(Cursor(furthest_, &furthest_), Cursor(text_.data() + text_.size(), &furthest_),
                    this);
  }

  bool null() override { return word(JsonKind::kNull, 4); }
  bool boolean(bool value) override { return word(JsonKind::kBool, value ? 4 : 5); }
  bool number_integer(number_integer_t) override { return number(); }
  bool number_unsigned(number_unsigned_t) override { return number(); }
  bool number_float(number_float_t, const string_t&) override { return number(); }
  bool string(string_t& value) override {
    add_string(value);
    count_element();
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& name) override {
    add_string(name);
    return true;
  }
  bool start_object(std::size_t) override { return open(JsonKind::kObject); }
  bool start_array(std::size_t) override { return open(JsonKind::kList); }
  bool end_object() override {
    check_keys(open_.back());
    return close();
  }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string& last, const Json::exception& error) override {
    explain(last, error);
  }

 private:
  [[noreturn]] void refuse(std::size_t offset, std::string_view problem) const {
    raise(tree_.source_.kind, "{}: {}", tree_.where(offset), problem);
  }

  /// Checks for bytes that the parser would take for the end, and for text that is not UTF-8.
  void check_bytes() const {
    if (text_.size() > kMaxJsonBytes)
      raise(tree_.source_.kind, "{}: has {} bytes, but JSON may have at most {}",
            tree_.source_.name, text_.size(), kMaxJsonBytes);
    if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff"))
      refuse(0, "not valid JSON: the text is UTF-16; save it as UTF-8");
    if (const std::size_t nul = text_.find('\0'); nul != text_.npos)
      refuse(nul, "not valid JSON: a NUL byte (0x00); the file is damaged, or no text");
  }

  std::size_t consumed() const { return static_cast<std::size_t>(furthest_ - text_.data()); }

  /// The begin of the value that the parser has just read.
  std::size_t begin() const {
    std::size_t at = end_;
    while (at < text_.size() && is_between(text_[at])) ++at;
    return at;
  }

  JsonNode& add(JsonKind kind, std::size_t begin, std::size_t size) {
    if (tree_.nodes_.size() == kMaxJsonValues)
      refuse(begin, fmt::format("more than {} values", kMaxJsonValues));
    const auto first = static_cast<std::uint32_t>(begin);
    tree_.nodes_.push_back({.begin = first,
                            .next = static_cast<std::uint32_t>(tree_.nodes_.size() + 1),
                            .at = first,
                            .size = static_cast<std::uint32_t>(size),
                            .kind = kind});
    return tree_.nodes_.back();
  }

  void count_element() {
    if (!open_.empty()) ++tree_.nodes_[open_.back()].size;
  }

  bool word(JsonKind kind, std::size_t size) {
    const std::size_t first = begin();
    add(kind, first, size);
    count_element();
    end_ = first + size;
    return true;
  }

  bool is_digit(std::size_t at) const {
    return at < text_.size() && text_[at] >= '0' && text_[at] <= '9';
  }

  bool number() {
    const std::size_t first = begin();
    end_ = first + (text_[first] == '-' ? 1 : 0);
    if (text_[end_] == '0' && is_digit(end_ + 1)) {
      ++end_;  // another number follows, which is refused
    } else {
      while (end_ < text_.size() && is_of_number(text_[end_])) ++end_;
    }
    const bool is_integer = text_.substr(first, end_ - first).find_first_of(".eE") == text_.npos;
    add(is_integer ? JsonKind::kInteger : JsonKind::kReal, first, end_ - first);
    count_element();
    return true;
  }

  void add_string(const std::string& value) {
    const std::size_t first = begin();
    end_ = consumed();
    JsonNode& node = add(JsonKind::kString, first, value.size());
    node.at = static_cast<std::uint32_t>(first + 1);
    if (value.size() + 2 == end_ - first) return;  // nothing is escaped
    std::string& pool = tree_.unescaped_;
    node.is_unescaped = true;
    node.at = static_cast<std::uint32_t>(pool.size());
    pool += value;
  }

  bool open(JsonKind kind) {
    const std::size_t first = consumed() - 1;
    if (open_.size() == kMaxJsonDepth)
      refuse(first, fmt::format("nested more than {} deep", kMaxJsonDepth));
    count_element();
    open_.push_back(static_cast<std::uint32_t>(tree_.nodes_.size()));
    add(kind, first, 0);
    end_ = consumed();
    return true;
  }

  bool close() {
    tree_.nodes_[open_.back()].next = static_cast<std::uint32_t>(tree_.nodes_.size());
    open_.pop_back();
    end_ = consumed();
    return true;
  }

  void check_keys(std::uint32_t object) const {
    const std::size_t count = tree_.nodes_[object].size;
    if (count < 2) return;
    std::vector<std::pair<std::string_view, std::uint32_t>> keys;  // with their places
    keys.reserve(count);
    for (std::uint32_t at = object + 1; keys.size() < count; at = tree_.nodes_[at + 1].next)
      keys.emplace_back(tree_.text_of(tree_.nodes_[at]), tree_.nodes_[at].begin);
    std::ranges::sort(keys);
    const auto twice = std::ranges::adjacent_find(
        keys, [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != keys.end())
      refuse((twice + 1)->second,
             fmt::format("the key {} is there twice, first at {}", quote_json(twice->first),
                         tree_.source_.line == 0 ? "an earlier place"
                                                 : tree_.line_and_column(twice->second)));
  }

  /// `last` is the part of the value that the parser has read, and possibly more.
  [[noreturn]] void explain(const std::string& last, const Json::exception& error) const {
    constexpr int kOutOfRange = 406;
    const std::size_t first = begin();
    const std::string_view rest = text_.substr(first);
    if (error.id == kOutOfRange)
      refuse(first, fmt::format("the number {} is too large: no number is beyond 1.8e308",
                                shortened_number(rest)));
    const std::string why = reason(error.what());
    const bool ends = why.find("unexpected end of input") != why.npos ||
                      why.find("missing closing quote") != why.npos;
    if (ends || rest.empty()) refuse(text_.size(), "not valid JSON: the text ends too early");
    const std::size_t read = consumed() == 0 ? 0 : consumed() - 1;
    const bool in_string = why.find("invalid string") != why.npos;
    if (in_string || (!last.empty() && kPunctuation.find(last.back()) != kPunctuation.npos))
      refuse(read, "not valid JSON: in " + why);
    for (const char* name : {"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"})
      if (rest.starts_with(name))
        refuse(first, fmt::format("not valid JSON: {} is not a JSON number, though Python writes "
                                  "it; write a number, or null",
                                  name));
    if (rest.front() == '\'') refuse(first, "not valid JSON: strings need \" quotes, not '");
    if (rest.front() == '/' || rest.front() == '#')
      refuse(first, "not valid JSON: JSON has no comments");
    refuse(first, "not valid JSON: in " + why);
  }

  static std::string shortened_number(std::string_view text) {
    constexpr std::size_t kLongest = 40;
    const auto end = std::ranges::find_if_not(text, is_of_number);
    const auto size = static_cast<std::size_t>(end - text.begin());
    return fmt::format("{}{}", text.substr(0, std::min(size, kLongest)),
                       size > kLongest ? "..." : "");
  }

  /// The parser's message without the position, and without the text, which may be long.
  static std::string reason(std::string_view what) {
    constexpr std::string_view kBefore = "syntax error while parsing ";
    constexpr std::size_t kLongestExpected = 60;
    if (const std::size_t at = what.find(kBefore); at != what.npos)
      what.remove_prefix(at + kBefore.size());
    const std::size_t last_read = what.find("; last read");
    if (last_read == what.npos) return std::string(what);
    const std::size_t expected = what.rfind("; expected");
    const bool is_told = expected != what.npos && what.size() - expected < kLongestExpected;
    return fmt::format("{}{}", what.substr(0, last_read), is_told ? what.substr(expected) : "");
  }

  JsonTree& tree_;
  std::string_view text_;
  const char* furthest_ = nullptr;   ///< end of the bytes that the parser has read: at most one
                                     ///< byte after the value of the event
  std::size_t end_ = 0;              ///< of the last value
  std::vector<std::uint32_t> open_;  ///< the lists and objects around
};

JsonTree::JsonTree(std::string text, JsonSource source)
    : text_(std::move(text)), source_(std::move(source)) {
  JsonTreeBuilder(*this).run();
}

std::string_view JsonTree::text_of(const JsonNode& node) const {
  return std::string_view(node.is_unescaped ? unescaped_ : text_).substr(node.at, node.size);
}

std::string JsonTree::line_and_column(std::size_t offset) const {
  const std::string_view before = std::string_view(text_).substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  std::string_view line = before.substr(newline == before.npos ? 0 : newline + 1);
  if (newline == before.npos && line.starts_with(kByteOrderMark))
    line.remove_prefix(kByteOrderMark.size());
  return fmt::format("{}:{}", source_.line + std::ranges::count(before, '\n'),
                     1 + std::ranges::count_if(line, begins_character));
}

std::string JsonTree::where(std::size_t offset) const {
  return source_.line == 0 ? source_.name
                           : fmt::format("{}:{}", source_.name, line_and_column(offset));
}

std::string quote_json(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::size_t end = std::min(text.size(), kLongest);
  while (end > 0 && end < text.size() && !begins_character(text[end])) --end;
  const std::string quoted =
      Json(text.substr(0, end)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return end < text.size() ? quoted + "..." : quoted;
}

}  // namespace lockstep
