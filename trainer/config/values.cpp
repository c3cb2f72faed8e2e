#include "trainer/config/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/suggest.h"
#include "trainer/config/group_values.h"

namespace lockstep {
namespace {

using Kind = YamlNode::Kind;

/// A value, or why there is none: an addition to the message "must be ..., not ...".
template <class T>
struct Parsed {
  std::optional<T> value = std::nullopt;
  std::string hint = "";
};

bool has_leading_zero(std::string_view digits) {
  return digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
}

/// Decimal only: YAML 1.1 reads 010 as 8 and 1_000 as 1000, and readers disagree.
template <class T>
Parsed<T> parse_number(const YamlNode& node, const Range& range) {
  if (node.kind != Kind::kScalar || node.quoted) return {};
  std::string_view text = node.text;
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || !(digits[0] == '.' || (digits[0] >= '0' && digits[0] <= '9'))) return {};
  if (has_leading_zero(digits)) return {.hint = "; write numbers without leading zeros"};
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return {};
  if (error == std::errc::result_out_of_range) return {.hint = "; the number is too large"};
  const auto x = static_cast<double>(value);
  if (error != std::errc() || !std::isfinite(x)) return {};
  if (!range.contains(x)) {
    const bool unprinted = range.max == Range::kMaxSize || range.max == Range::kMaxCount;
    if (x > range.max && unprinted) {
      return {.hint = fmt::format("; the largest allowed is {:.15g}", range.max)};
    }
    return {};
  }
  return {.value = value};
}

Parsed<bool> parse_bool(const YamlNode& node) {
  if (node.kind != Kind::kScalar || node.quoted) return {};
  if (node.text == "true" || node.text == "True" || node.text == "TRUE") return {.value = true};
  if (node.text == "false" || node.text == "False" || node.text == "FALSE") return {.value = false};
  return {};
}

class Setter {
 public:
  Setter(const ConfigKey& key, const YamlNode& node, Config& config)
      : key_(key), node_(node), object_(key.object_in(config)) {}

  std::optional<std::string> run() {
    if (node_.kind == Kind::kNull) return fmt::format("'{}' has no value", key_.path);
    std::visit(*this, key_.member);
    return error_;
  }

  void operator()(Member<std::int64_t> member) {
    if (is_empty_word()) {
      member(object_) = 0;
    } else {
      number(member);
    }
  }
  void operator()(Member<double> member) { number(member); }

  void operator()(Member<bool> member) {
    if (const auto parsed = parse_bool(node_); parsed.value) {
      member(object_) = *parsed.value;
    } else {
      refuse_value();
    }
  }

  void operator()(Member<std::string> member) {
    if (const std::string* text = string_of(node_)) member(object_) = *text;
  }

  void operator()(Member<std::vector<std::string>> member) {
    std::vector<std::string> out;
    const bool is_list = node_.kind == Kind::kList;
    for (const YamlNode& item : is_list ? std::span(node_.items) : std::span(&node_, 1)) {
      const std::string* text = string_of(item);
      if (text == nullptr) return;
      if (!text->empty()) {
        out.push_back(*text);
      } else if (is_list) {
        error_ = fmt::format("'{}' must not have empty strings in it", key_.path);
        return;
      }
    }
    if (accept_length(out.size())) member(object_) = std::move(out);
  }

  void operator()(Member<std::vector<std::int64_t>> member) {
    if (is_empty_word()) {
      member(object_).clear();
      return;
    }
    if (auto out = numbers<std::int64_t>()) {
      if (accept_length(out->size())) member(object_) = std::move(*out);
    }
  }

  void operator()(Member<std::vector<double>> member) {
    if (node_.kind == Kind::kScalar) {
      const Parsed<double> parsed = parse_number<double>(node_, key_.range);
      if (parsed.value) {
        member(object_) = {*parsed.value};
      } else {
        refuse_value(parsed.hint);
      }
    } else if (auto out = numbers<double>()) {
      if (accept_length(out->size())) member(object_) = std::move(*out);
    }
  }

  void operator()(Member<std::array<double, 2>> member) {
    if (const auto out = numbers<double>()) {
      if (out->size() != 2) return refuse("must be a {}, not {} of them", out->size());
      member(object_) = {(*out)[0], (*out)[1]};
    }
  }

  void operator()(Member<std::optional<IndexRange>> member) {
    const auto out = numbers<std::int64_t>();
    if (!out) return;
    if (out->empty()) {
      member(object_) = std::nullopt;
    } else if (out->size() != 2) {
      refuse("must be a {}, not {} of them", out->size());
    } else if ((*out)[0] >= (*out)[1]) {
      error_ = fmt::format("'{}' must begin before it ends, not be [{}, {}]", key_.path, (*out)[0],
                           (*out)[1]);
    } else {
      member(object_) = IndexRange{(*out)[0], (*out)[1]};
    }
  }

  void operator()(Member<std::vector<LengthShare>> member) {
    if (node_.kind != Kind::kList) return refuse_value();
    std::vector<LengthShare> out;
    for (const YamlNode& item : node_.items) {
      if (!add_share(item, out)) {
        error_ = fmt::format("'{}' must be a {}, but entry {} in it is {}", key_.path,
                             key_.type_text(), out.size() + 1, text_of(item));
        return;
      }
    }
    if (!accept_length(out.size())) return;
    if (const std::string problem = problem_of(out); !problem.empty())
      error_ = fmt::format("'{}' {}", key_.path, problem);
    else
      member(object_) = std::move(out);
  }

  void operator()(Member<std::vector<ParameterGroup>> member) {
    std::vector<ParameterGroup> out;
    if (auto problem = read_groups(node_, out))
      error_ = fmt::format("'{}' {}", key_.path, *problem);
    else
      member(object_) = std::move(out);
  }

  void operator()(const EnumMember& member) {
    if (const auto index = index_of_name(member.names)) member.set(object_, *index);
  }

  void operator()(const ChoiceMember& choice) {
    const std::vector<std::string_view> names(choice.names.begin(), choice.names.end());
    if (const auto index = index_of_name(names)) choice.member(object_) = choice.names[*index];
  }

 private:
  /// The index of the node in the names; nothing if an error was recorded.
  std::optional<std::size_t> index_of_name(std::span<const std::string_view> names) {
    if (node_.kind != Kind::kScalar) {
      refuse_value();
      return std::nullopt;
    }
    const auto found = std::find(names.begin(), names.end(), node_.text);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    refuse_value(did_you_mean(nearest_word(node_.text, names)));
    return std::nullopt;
  }

  /// "must be a {}" is filled with the key's type.
  template <class Value>
  void refuse(fmt::format_string<std::string, const Value&> text, const Value& value) {
    error_ = fmt::format("'{}' {}", key_.path, fmt::format(text, key_.type_text(), value));
  }
  void refuse_value(std::string_view hint = "") {
    const std::string type = key_.type_text();
    std::string_view article = type.starts_with("integer") ? "an " : "a ";
    if (type.starts_with("one of") || type.starts_with("true")) article = "";
    error_ = fmt::format("'{}' must be {}{}, not {}{}", key_.path, article, type, node_.describe(),
                         hint);
  }

  bool is_empty_word() const {
    return node_.kind == Kind::kScalar && !key_.empty_word.empty() && node_.text == key_.empty_word;
  }

  template <class T>
  void number(Member<T> member) {
    const Parsed<T> parsed = parse_number<T>(node_, key_.range);
    if (parsed.value) {
      member(object_) = *parsed.value;
    } else {
      refuse_value(parsed.hint);
    }
  }

  /// The list's numbers; nothing if an error was recorded.
  template <class T>
  std::optional<std::vector<T>> numbers() {
    if (node_.kind != Kind::kList) {
      refuse_value();
      return std::nullopt;
    }
    std::vector<T> out;
    for (const YamlNode& item : node_.items) {
      const Parsed<T> parsed = parse_number<T>(item, key_.range);
      if (!parsed.value) {
        error_ = fmt::format("'{}' must be a {}, but number {} in it is {}{}", key_.path,
                             key_.type_text(), out.size() + 1, item.describe(), parsed.hint);
        return std::nullopt;
      }
      out.push_back(*parsed.value);
    }
    return out;
  }

  /// Whether the node is [minimum, maximum, probability].
  bool add_share(const YamlNode& node, std::vector<LengthShare>& to) const {
    if (node.kind != Kind::kList || node.items.size() != 3) return false;
    const auto min = parse_number<std::int64_t>(node.items[0], key_.range).value;
    const auto max = parse_number<std::int64_t>(node.items[1], key_.range).value;
    const auto probability = parse_number<double>(node.items[2], {}).value;
    if (min && max && probability) to.push_back({*min, *max, *probability});
    return min && max && probability;
  }

  /// A list as it is written but for lists in it, anything else by its description.
  static std::string text_of(const YamlNode& node) {
    if (node.kind != Kind::kList || node.items.empty()) return node.describe();
    std::vector<std::string> words;
    words.reserve(node.items.size());
    for (const YamlNode& item : node.items)
      words.push_back(item.kind == Kind::kScalar ? item.text : item.describe());
    return fmt::format("[{}]", fmt::join(words, ", "));
  }

  /// The node's string; null if an error was recorded.
  const std::string* string_of(const YamlNode& node) {
    if (node.kind != Kind::kScalar) {
      refuse_value();
    } else if (node.text.empty() && !key_.may_be_empty) {
      error_ = fmt::format("'{}' must not be empty", key_.path);
    } else if (node.text.find('\0') != std::string::npos) {
      error_ = fmt::format("'{}' must not contain a zero byte", key_.path);
    } else {
      return &node.text;
    }
    return nullptr;
  }

  bool accept_length(std::size_t length) {
    if (length == 0 && !key_.may_be_empty) {
      error_ = fmt::format("'{}' must not be empty", key_.path);
    }
    return !error_;
  }

  const ConfigKey& key_;
  const YamlNode& node_;
  void* object_;
  std::optional<std::string> error_;
};

bool is_list(const ConfigKey& key) {
  return std::holds_alternative<Member<std::vector<std::string>>>(key.member) ||
         std::holds_alternative<Member<std::vector<std::int64_t>>>(key.member) ||
         std::holds_alternative<Member<std::vector<double>>>(key.member) ||
         std::holds_alternative<Member<std::array<double, 2>>>(key.member) ||
         std::holds_alternative<Member<std::optional<IndexRange>>>(key.member) ||
         std::holds_alternative<Member<std::vector<LengthShare>>>(key.member) ||
         std::holds_alternative<Member<std::vector<ParameterGroup>>>(key.member);
}

/// Whether every YAML reader reads `text` without quotes as a string.
bool is_plain(std::string_view text) {
  constexpr std::string_view kReserved[] = {"true", "false", "null", "yes", "no",
                                            "on",   "off",   "y",    "n"};
  std::string lower;
  for (char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool inner = (c >= '0' && c <= '9') || c == '.' || c == '-';
    if (!letter && c != '_' && c != '/' && (!inner || lower.empty())) return false;
    lower += letter ? static_cast<char>(c | 0x20) : c;
  }
  return !text.empty() &&
         std::find(std::begin(kReserved), std::end(kReserved), lower) == std::end(kReserved);
}

struct Printer {
  const Key& key;
  const void* object;
  /// Access to members needs a mutable object; nothing here changes it.
  template <class T>
  const T& of(Member<T> member) const {
    return member(const_cast<void*>(object));
  }

  std::string operator()(Member<std::int64_t> m) const {
    if (of(m) == 0 && !key.empty_word.empty()) return key.empty_word;
    return fmt::format("{}", of(m));
  }
  std::string operator()(Member<double> m) const { return fmt::format("{}", of(m)); }
  std::string operator()(Member<bool> m) const { return of(m) ? "true" : "false"; }
  std::string operator()(Member<std::string> m) const { return string_text(of(m)); }
  std::string operator()(Member<std::vector<std::string>> m) const {
    const std::vector<std::string>& values = of(m);
    if (values.size() == 1) return string_text(values[0]);
    std::vector<std::string> texts;
    texts.reserve(values.size());
    for (const std::string& value : values) texts.push_back(string_text(value));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }
  std::string operator()(Member<std::vector<std::int64_t>> m) const {
    if (of(m).empty() && !key.empty_word.empty()) return key.empty_word;
    return fmt::format("[{}]", fmt::join(of(m), ", "));
  }
  std::string operator()(Member<std::vector<double>> m) const {
    if (of(m).size() == 1) return fmt::format("{}", of(m)[0]);
    return fmt::format("[{}]", fmt::join(of(m), ", "));
  }
  std::string operator()(Member<std::array<double, 2>> m) const {
    return fmt::format("[{}]", fmt::join(of(m), ", "));
  }
  std::string operator()(Member<std::optional<IndexRange>> m) const {
    const std::optional<IndexRange>& range = of(m);
    return range ? fmt::format("[{}, {}]", range->begin, range->end) : "[]";
  }
  std::string operator()(Member<std::vector<LengthShare>> m) const {
    std::vector<std::string> texts;
    for (const auto& [min, max, probability] : of(m))
      texts.push_back(fmt::format("[{}, {}, {}]", min, max, probability));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }
  std::string operator()(Member<std::vector<ParameterGroup>> m) const { return groups_text(of(m)); }
  std::string operator()(const EnumMember& m) const { return std::string(m.names[m.get(object)]); }
  std::string operator()(const ChoiceMember& c) const { return of(c.member); }
};

/// Sets a member to its value in other defaults.
struct Resetter {
  void* object;
  void* defaults;

  template <class T>
  void operator()(Member<T> member) {
    member(object) = member(defaults);
  }
  void operator()(const EnumMember& member) { member.set(object, member.get(defaults)); }
  void operator()(const ChoiceMember& choice) { (*this)(choice.member); }
};

}  // namespace

std::string string_text(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::optional<std::string> set_value(const ConfigKey& key, const YamlNode& node, Config& config) {
  return Setter(key, node, config).run();
}

std::optional<std::string> set_value(const ConfigKey& key, std::string_view text, Config& config) {
  if (!is_utf8(text)) return fmt::format("'{}' is not UTF-8 text", key.path);
  if (is_list(key) && text.starts_with('[')) {
    std::vector<YamlIssue> issues;
    const YamlNode node = parse_yaml(text, issues);
    if (!issues.empty()) return fmt::format("'{}' is not a list: {}", key.path, text);
    return set_value(key, node, config);
  }
  YamlNode node;
  node.kind = Kind::kScalar;
  node.text = text;
  return set_value(key, node, config);
}

void reset_value(const ConfigKey& key, Config& config) {
  Config fresh;
  std::visit(Resetter{key.object_in(config), key.default_object(fresh)}, key.member);
}

std::string value_text(const ConfigKey& key, const Config& config) {
  return std::visit(Printer{key, key.object_in(config)}, key.member);
}

std::string default_value_text(const ConfigKey& key) {
  Config fresh;
  return std::visit(Printer{key, key.default_object(fresh)}, key.member);
}

std::vector<std::string> texts_of(const ConfigKey& key, const Config& config) {
  void* object = const_cast<void*>(key.object_in(config));  // only read
  if (const auto* list = std::get_if<Member<std::vector<std::string>>>(&key.member))
    return (*list)(object);
  const auto* one = std::get_if<Member<std::string>>(&key.member);
  LS_CHECK(one != nullptr, "{} has no strings", key.path);
  const std::string& text = (*one)(object);
  return text.empty() ? std::vector<std::string>{} : std::vector{text};
}

}  // namespace lockstep
