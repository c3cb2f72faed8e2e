// Strict YAML: a small tree in which every key and value stores its location, built from the events
// of yaml-cpp. It refuses what yaml-cpp silently accepts: duplicate keys, anchors, aliases and
// `<<`, tags, several documents, keys that are not words, tabs that indent, control characters,
// bytes that are not UTF-8, and nesting or sizes beyond any config.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// A problem at a location in a text; line and column count from 1.
struct YamlIssue {
  int line = 1;
  int column = 1;
  std::string message;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;  ///< kScalar: unescaped; kMap: its name in messages if it is of another format,
                     ///< not "a section"
  bool quoted = false;             ///< kScalar: was quoted, so it is always a string
  std::vector<YamlNode> items;     ///< kList
  std::vector<YamlEntry> entries;  ///< kMap, in the order of the text, keys unique

  /// Its name in messages: "nothing", "'abc'", "a list", "a section".
  std::string describe() const;
};

struct YamlEntry {
  std::string key;
  int line = 1;  ///< of the key
  int column = 1;
  YamlNode value;
};

constexpr std::size_t kMaxYamlBytes = std::size_t{64} * 1024;
constexpr int kMaxYamlDepth = 8;

/// Parses one document. Appends problems to `issues`; a text that is not YAML at all gives one
/// issue and an empty tree. No text makes it throw.
YamlNode parse_yaml(std::string_view text, std::vector<YamlIssue>& issues);

/// Whether `text` is well-formed UTF-8.
bool is_utf8(std::string_view text);

}  // namespace lockstep
