// Text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// Implementations are immutable; all methods are thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Error kData naming the character and its position if the vocabulary cannot express the text.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// The inverse of encode, byte for byte. Error kData for an id that is not a token.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
  /// Every id is below this.
  virtual std::int64_t vocab_size() const = 0;
  /// The token that separates documents, if there is one.
  virtual std::optional<std::int32_t> end_of_text() const = 0;
  /// JSON from which tokenizer_from_json makes an equal tokenizer.
  virtual std::string serialize() const = 0;

  /// SHA-256 of serialize().
  std::string digest() const;
};

using TokenizerPtr = std::shared_ptr<const Tokenizer>;

/// What serialize() wrote; `name` is its file, for messages. Error kData if it is anything else.
TokenizerPtr tokenizer_from_json(const std::string& json, const std::string& name);

/// The same from and to a file.
TokenizerPtr load_tokenizer(const std::string& path);
void save_tokenizer(const Tokenizer& tokenizer, const std::string& path);

}  // namespace lockstep
