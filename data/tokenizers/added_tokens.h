// The "added_tokens" of a tokenizer.json: texts that are one token wherever they occur, found
// before a text is cut into words. Source: huggingface/tokenizers, tokenizers/src/tokenizer/
// added_vocabulary.rs.
//
//   special        stands for no text
//   normalized     is searched (normalized itself) in normalized text, else in the original
//   lstrip         includes the white space before it; rstrip, that after it
//   single_word    only if no word character is next to it
//
// If several match, the first in the text wins, and of those the longest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json_place.h"
#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/vocabulary.h"

namespace lockstep {

struct AddedToken {
  std::int32_t id;
  std::string content;
  bool special;
  bool normalized;
  bool lstrip;
  bool rstrip;
  bool single_word;
};

/// Finds tokens in a text.
class TokenFinder {
 public:
  /// A part of a text: a token, or the text between tokens (id -1).
  struct Part {
    std::string_view text;
    std::int32_t id;
  };

  void add(std::string_view pattern, const AddedToken& token);
  /// The parts of a text, without empty ones.
  std::vector<Part> split(std::string_view text) const;

 private:
  struct Rule {
    std::int32_t id;
    bool lstrip;
    bool rstrip;
    bool single_word;
  };
  /// The longest pattern at a place: its length, and its rule.
  std::pair<std::size_t, const Rule*> match(std::string_view text, std::size_t at) const;

  // A trie: edges by node << 8 | byte, rules by node.
  std::unordered_map<std::uint64_t, std::uint32_t> edges_;
  std::unordered_map<std::uint32_t, Rule> rules_;
  std::vector<bool> begins_ = std::vector<bool>(256, false);  ///< by first byte
};

class AddedTokens {
 public:
  /// `json`: the list, or null for none. Error kData if an id is not the id of the token in
  /// `vocabulary`, or belongs to another token.
  AddedTokens(const JsonPlace* json, const Vocabulary& vocabulary, const Normalizer* normalizer);

  const std::vector<AddedToken>& list() const { return list_; }
  const AddedToken* find(std::int32_t id) const;
  const AddedToken* find(std::string_view content) const;
  const TokenFinder& in_original() const { return original_; }
  const TokenFinder& in_normalized() const { return normalized_; }

 private:
  std::vector<AddedToken> list_;
  std::unordered_map<std::int32_t, std::size_t> by_id_;
  std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>> by_content_;
  TokenFinder original_;
  TokenFinder normalized_;
};

}  // namespace lockstep
