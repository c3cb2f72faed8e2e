// The one strict reader of JSON: files of users (config.json, an index of weights, tokenizer.json,
// JSON Lines) and files that lockstep wrote itself. It reads RFC 8259, and decides what that leaves
// open:
//
//   nesting                at most 64 deep; sizes: at most 128 MiB and 8 Mi values
//   duplicate keys         refused, with both places
//   bytes                  UTF-8 without a NUL; "\u0000" is a character of a string like others;
//                          a byte order mark at the beginning is skipped
//   lone surrogates        refused
//   numbers                out of a double's range (1e999): refused, and so are NaN and Infinity,
//                          which Python writes; 1e-999 is 0; an integer may have any length, but
//                          has integer type only up to 64 bits; -0 is the integer 0
//
// Errors are "FILE:LINE:COLUMN: problem"; columns count characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace lockstep {

inline constexpr int kMaxJsonDepth = 64;
inline constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{1} << 27U;
inline constexpr std::size_t kMaxJsonValues = std::size_t{1} << 23U;  ///< keys count, too

/// The source of a text, for messages.
struct JsonSource {
  std::string name;                   ///< the file
  ErrorKind kind = ErrorKind::kData;  ///< of the errors in it
  std::int64_t line = 1;              ///< of the file where the text begins; 0: the text has no
                                      ///< lines, so messages have no line and column
};

enum class JsonKind : std::uint8_t { kNull, kBool, kInteger, kReal, kString, kList, kObject };

/// A value, or the key in front of one.
struct JsonNode {
  std::uint32_t begin;  ///< its first byte in the text
  std::uint32_t next;   ///< the node after it and all nodes in it
  std::uint32_t at;     ///< kString: its first byte, in the text or among the unescaped ones
  std::uint32_t size;   ///< bytes of a string, number or word; elements; members
  JsonKind kind;
  bool is_unescaped = false;  ///< kString
};

/// The nodes in the order of the text, the root first. A list's elements, and an object's keys and
/// values in turn, begin right after its node.
class JsonTree {
 public:
  /// Error as above.
  JsonTree(std::string text, JsonSource source);

  const JsonSource& source() const { return source_; }
  const JsonNode& node(std::uint32_t index) const { return nodes_[index]; }
  /// A string's characters, unescaped; a number or word as it is written.
  std::string_view text_of(const JsonNode& node) const;
  /// "FILE:LINE:COLUMN" of a byte of the text.
  std::string where(std::size_t offset) const;
  /// "LINE:COLUMN".
  std::string line_and_column(std::size_t offset) const;

 private:
  friend class JsonTreeBuilder;

  std::string text_;
  JsonSource source_;
  std::vector<JsonNode> nodes_;
  std::string unescaped_;  ///< the strings that had escapes in the text
};

/// A text from a file in quotes, cut to fit on one line.
std::string quote_json(std::string_view text);

}  // namespace lockstep
