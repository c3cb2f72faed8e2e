// "Replace" of a tokenizer.json, a normalizer and a decoder: replaces every match of a pattern by
// one text. {"pattern": {"String": " "}, "content": "▁"}, or {"Regex": "..."}.
#pragma once

#include <string>
#include <string_view>

#include "core/base/json_place.h"
#include "data/tokenizers/regex.h"

namespace lockstep {

/// The pattern of a Replace or Split: {"String": text} or {"Regex": expression}.
Regex pattern_of(const JsonPlace& json);

class ReplacePattern {
 public:
  explicit ReplacePattern(const JsonPlace& json);
  std::string apply(std::string_view text) const;
  /// The replaced text, if the pattern is a text and not an expression; else "".
  std::string_view literal() const { return regex_.literal(); }
  const std::string& content() const { return content_; }

 private:
  Regex regex_;
  std::string content_;
};

}  // namespace lockstep
