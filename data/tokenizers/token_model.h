// Turns a word into tokens: the "model" of a tokenizer.json, which is BPE (bpe_model.h) or
// WordPiece (word_piece_model.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_place.h"
#include "data/tokenizers/vocabulary.h"

namespace lockstep {

/// Thrown by encode(): a character that the vocabulary cannot express.
struct UnknownCharacter {
  char32_t character;
  std::size_t offset;  ///< its first byte in the word
};

/// Thread-safe.
class TokenModel {
 public:
  explicit TokenModel(const JsonPlace& json) : vocabulary_(json.at("vocab")) {}
  virtual ~TokenModel() = default;

  /// Appends the tokens of a word, which is UTF-8. Throws UnknownCharacter.
  virtual void encode(std::string_view word, std::vector<std::int32_t>& out) const = 0;
  /// The prefix of a token that is not the first of its word; "" for none.
  virtual const std::string& continuing_prefix() const = 0;
  virtual std::optional<std::int32_t> unk() const = 0;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  /// The id of a token that the model requires. Error kData if it is not in the vocabulary.
  std::int32_t need(const JsonPlace& json, std::string_view token) const;

 private:
  Vocabulary vocabulary_;
};

/// Error kData naming the place of anything unsupported: Unigram, WordLevel.
std::unique_ptr<const TokenModel> make_token_model(const JsonPlace& json);

}  // namespace lockstep
