#include "trainer/config/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

namespace lockstep {
namespace {

/// Ends parsing: the rest of the text cannot be interpreted.
struct Refused {
  YamlIssue issue;
};

[[noreturn]] void refuse(const YAML::Mark& mark, std::string message) {
  // yaml-cpp marks some errors with -1 for "no location".
  throw Refused{{std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1, std::move(message)}};
}

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::vector<YamlIssue>& issues)
      : text_(text), issues_(issues) {}
  YamlNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) refuse(mark, "a config is one YAML document; remove this '---'");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(mark, YamlNode{}); }

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    refuse(mark,
           fmt::format("anchors are not supported; write the value out instead of '&{}'", name));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "aliases are not supported; write the value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    refuse_tag(mark, tag);
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.text = value;
    node.quoted = tag == "!";  // how yaml-cpp reports quoted and block scalars; plain ones have "?"
    if (node.quoted && !quote_closes(static_cast<std::size_t>(mark.pos))) {
      refuse(mark, "a quoted text is not closed");
    }
    add(mark, std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, YamlNode::Kind::kList);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, YamlNode::Kind::kMap);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YAML::Mark mark;
    YamlNode node;
    std::optional<YamlEntry> entry = std::nullopt;  ///< a key that waits for its value
  };

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") refuse(mark, "tags are not supported");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YamlNode::Kind kind) {
    refuse_tag(mark, tag);
    if (wants_key()) refuse(mark, "a key must be a word, not a list or a section");
    if (static_cast<int>(stack_.size()) >= kMaxYamlDepth) {
      refuse(mark, fmt::format("nested more than {} levels deep", kMaxYamlDepth));
    }
    Frame frame{mark, {}};
    frame.node.kind = kind;
    stack_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    add(frame.mark, std::move(frame.node));
  }

  bool wants_key() const {
    return !stack_.empty() && stack_.back().node.kind == YamlNode::Kind::kMap &&
           !stack_.back().entry;
  }

  void add(const YAML::Mark& mark, YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
    } else if (wants_key()) {
      begin_entry(mark, std::move(node));
    } else if (stack_.back().node.kind == YamlNode::Kind::kMap) {
      finish_entry(std::move(node));
    } else {
      stack_.back().node.items.push_back(std::move(node));
    }
  }

  void begin_entry(const YAML::Mark& mark, YamlNode key) {
    if (key.kind != YamlNode::Kind::kScalar || key.text.empty()) {
      refuse(mark, "a key must be a word, not empty");
    }
    if (key.text == "<<" && !key.quoted) {
      refuse(mark, "'<<' is not supported; write the keys out");
    }
    stack_.back().entry = YamlEntry{std::move(key.text), mark.line + 1, mark.column + 1, {}};
  }

  void finish_entry(YamlNode value) {
    Frame& frame = stack_.back();
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a value follows its key
    YamlEntry entry = std::move(*frame.entry);
    frame.entry.reset();
    const auto first = std::find_if(frame.node.entries.begin(), frame.node.entries.end(),
                                    [&](const YamlEntry& e) { return e.key == entry.key; });
    if (first != frame.node.entries.end()) {
      issues_.push_back({entry.line, entry.column,
                         fmt::format("duplicate key '{}{}'; first given on line {}", path_prefix(),
                                     entry.key, first->line)});
      return;
    }
    entry.value = std::move(value);
    frame.node.entries.push_back(std::move(entry));
  }

  /// yaml-cpp treats the end of the file as a closing quote. Block scalars have none.
  bool quote_closes(std::size_t start) const {
    const char quote = start < text_.size() ? text_[start] : '\0';
    if (quote != '"' && quote != '\'') return true;
    for (std::size_t i = start + 1; i < text_.size(); ++i) {
      const bool doubled = quote == '\'' && text_.substr(i, 2) == "''";
      const bool escape = quote == '"' && text_[i] == '\\';
      if (doubled || escape) {
        ++i;
      } else if (text_[i] == quote) {
        return true;
      }
    }
    return false;
  }

  /// "optimizer." inside that section, "" at the top.
  std::string path_prefix() const {
    std::string out;
    for (const Frame& frame : stack_) {
      if (frame.entry) out += frame.entry->key + ".";
    }
    return out;
  }

  std::string_view text_;
  std::vector<YamlIssue>& issues_;
  std::vector<Frame> stack_;
  YamlNode root_;
  int documents_ = 0;
};

/// The length of the well-formed UTF-8 character at text[i], 0 if there is none (RFC 3629).
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U;
  };
  const auto continues = [&](std::size_t k) { return (byte(k) & 0xC0U) == 0x80U; };
  const unsigned first = byte(i);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(i + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(i + 1) < 0xA0;
    const bool surrogate = first == 0xED && byte(i + 1) > 0x9F;
    return continues(i + 1) && continues(i + 2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(i + 1) < 0x90;
    const bool beyond = first == 0xF4 && byte(i + 1) > 0x8F;
    return continues(i + 1) && continues(i + 2) && continues(i + 3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

/// Refuses input that yaml-cpp must not parse: foreign encodings, control characters, tab
/// indentation.
void check_characters(std::string_view text) {
  YAML::Mark mark;
  bool indentation = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) refuse(mark, "not UTF-8 text");
    const char c = text[i];
    if (c == '\n') {
      ++mark.line;
      mark.column = 0;
      indentation = true;
      ++i;
      continue;
    }
    if (c == '\t' && indentation) refuse(mark, "a tab cannot indent YAML; use spaces");
    if (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) && c != '\t' &&
        c != '\r') {
      refuse(mark, fmt::format("control character 0x{:02x}", static_cast<unsigned char>(c)));
    }
    if (c != ' ') indentation = false;
    ++mark.column;
    i += length;
  }
}

/// yaml-cpp's most frequent errors in the user's terms.
std::string explain(const std::string& message) {
  constexpr std::pair<std::string_view, std::string_view> kExplanations[] = {
      {"end of sequence flow not found", "a list's '[' is not closed"},
      {"end of map flow not found", "a '{' is not closed"},
      {"illegal map value", "unexpected ':'; quote a text that has one in it"},
      {"end of map not found", "expected a 'key: value' line, indented like those before it"},
      {"end of sequence not found", "expected a list item, indented like those before it"},
      {"illegal EOF in scalar", "a quoted text is not closed"},
  };
  for (const auto& [theirs, ours] : kExplanations) {
    if (message == theirs) return std::string(ours);
  }
  return message;
}

YamlNode parse_or_refuse(std::string_view text, std::vector<YamlIssue>& issues) {
  if (text.size() > kMaxYamlBytes) {
    refuse(YAML::Mark(), fmt::format("{} bytes is too large for a config; the limit is {}",
                                     text.size(), kMaxYamlBytes));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  check_characters(text);
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(text, issues);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    refuse(error.mark, explain(error.msg));
  }
  return builder.take_root();
}

}  // namespace

std::string YamlNode::describe() const {
  switch (kind) {
    case Kind::kNull: return "nothing";
    case Kind::kScalar: return quoted ? fmt::format("the string '{}'", text) : "'" + text + "'";
    case Kind::kList: return "a list";
    case Kind::kMap: return text.empty() ? "a section" : text;
  }
  __builtin_unreachable();
}

YamlNode parse_yaml(std::string_view text, std::vector<YamlIssue>& issues) {
  try {
    return parse_or_refuse(text, issues);
  } catch (Refused& refused) {
    issues.push_back(std::move(refused.issue));
    return {};
  }
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace lockstep
