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

/// The tokens that have a part to play, as far as a vocabulary has them.
struct SpecialTokens {
  std::optional<std::int32_t> unk = {};   ///< stands for what cannot be expressed
  std::optional<std::int32_t> pad = {};   ///< fills a short sequence up
  std::optional<std::int32_t> cls = {};   ///< begins a sequence that is classified
  std::optional<std::int32_t> sep = {};   ///< ends each of the texts of a sequence
  std::optional<std::int32_t> mask = {};  ///< hides a token that is to be predicted
  std::optional<std::int32_t> bos = {};   ///< begins a text
  std::optional<std::int32_t> eos = {};   ///< ends a text
};

/// A sequence as a model takes it.
struct TokenSequence {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> type_ids;  ///< of each token: 0 in the first text, 1 in the second
};

/// The text of tokens that come one by one.
class Decoding {
 public:
  virtual ~Decoding() = default;
  /// Takes one more token, and gives the text that no later token can change any more. What all
  /// calls gave joins to what decode() makes of all tokens. Error kData for an id that is no token.
  virtual std::string add(std::int32_t token) = 0;
  /// The rest.
  virtual std::string finish() = 0;
};

/// Implementations are immutable; all methods are thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The text's tokens, without those that with_special_tokens() adds. Error kData naming the
  /// character and its position if the vocabulary cannot express the text.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// The text of tokens; what encode() gave comes back byte for byte unless the tokenizer
  /// normalizes text (lower case, accents) or has to use an unk token. Error kData for an id that
  /// is not a token.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
  /// Begins to decode a text that grows; the tokenizer must live longer. Unless it is overridden,
  /// all of the text comes in the end.
  virtual std::unique_ptr<Decoding> decoding() const;
  /// The tokens of a text, or of a pair, as a model takes them: BERT's [CLS] a [SEP] b [SEP], for
  /// example. Nothing is added by default.
  virtual TokenSequence with_special_tokens(
      std::span<const std::int32_t> a,
      std::optional<std::span<const std::int32_t>> b = std::nullopt) const;
  /// Every id is below this.
  virtual std::int64_t vocab_size() const = 0;
  /// The token as the vocabulary writes it ("##ing", "Ġthe"). Error kData for an id that is none.
  virtual std::string token(std::int32_t id) const = 0;
  /// The inverse of token(); nothing if the vocabulary has no such token.
  virtual std::optional<std::int32_t> id_of(std::string_view token) const = 0;
  virtual const SpecialTokens& special() const = 0;
  /// Whether the token stands for no text: what `special()` names, and others declared so.
  virtual bool is_special(std::int32_t id) const;
  /// Whether a token goes on with the word of the token before it: WordPiece's "##ing"; where words
  /// begin with their space (byte-level, Metaspace), a token without one. Special tokens do not.
  virtual bool continues_word(std::int32_t id) const = 0;
  /// JSON from which tokenizer_from_json makes an equal tokenizer.
  virtual std::string serialize() const = 0;

  /// The token that separates documents, if there is one.
  std::optional<std::int32_t> end_of_text() const { return special().eos; }
  /// SHA-256 of serialize().
  std::string digest() const;
};

/// Error kData if `id` is not one of `vocab_size` tokens.
void check_token(std::int32_t id, std::int64_t vocab_size);

using TokenizerPtr = std::shared_ptr<const Tokenizer>;

/// A Hugging Face tokenizer.json, which serialize() writes, or what lockstep wrote before; `name`
/// is its file, for messages. Error kData if it is anything else.
TokenizerPtr tokenizer_from_json(const std::string& json, const std::string& name);

/// The same from a file, which may also be BERT's vocab.txt, or GPT-2's vocab.json with merges.txt
/// beside it; what is in the file decides. Error kData naming the file.
TokenizerPtr load_tokenizer(const std::string& path);

/// Writes the tokenizer.json, as write_file() does. Error kData if it cannot be written.
void save_tokenizer(const Tokenizer& tokenizer, const std::string& path);

}  // namespace lockstep
