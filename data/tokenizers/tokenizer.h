// Converts text to token ids and back.
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

/// The tokens with a special role, if a vocabulary has them.
struct SpecialTokens {
  std::optional<std::int32_t> unk = {};   ///< replaces text that cannot be expressed
  std::optional<std::int32_t> pad = {};   ///< fills a short sequence up
  std::optional<std::int32_t> cls = {};   ///< begins a sequence that is classified
  std::optional<std::int32_t> sep = {};   ///< ends each of the texts of a sequence
  std::optional<std::int32_t> mask = {};  ///< hides a token that is to be predicted
  std::optional<std::int32_t> bos = {};   ///< begins a text
  std::optional<std::int32_t> eos = {};   ///< ends a text
};

/// A sequence as a model takes it.
struct TokenSequence {
  std::vector<std::int32_t> ids;       ///< of the tokens, in order
  std::vector<std::int32_t> type_ids;  ///< of each token: 0 in the first text, 1 in the second
};

/// Decodes tokens that arrive one by one.
class Decoding {
 public:
  virtual ~Decoding() = default;
  /// Takes one more token, and returns the text that no later token can change. The results of all
  /// calls together are the result of decode() for all tokens. Error kData for an invalid id.
  virtual std::string add(std::int32_t token) = 0;
  /// The rest.
  virtual std::string finish() = 0;
};

/// Text to token ids and back. Implementations are immutable; all methods are thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The text's tokens, without those that with_special_tokens() adds. Error kData naming the
  /// character and its position if the vocabulary cannot express the text.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// The text of tokens. decode(encode(text)) is `text`, byte for byte, unless the tokenizer
  /// normalizes text (lower case, accents) or uses an unk token. Error kData for an id that is not
  /// a token.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
  /// Begins to decode a growing text; the tokenizer must outlive the result. The default returns
  /// the whole text at the end.
  virtual std::unique_ptr<Decoding> decoding() const;
  /// The tokens of a text, or of a pair, as a model takes them: BERT's [CLS] a [SEP] b [SEP], for
  /// example. The default adds nothing.
  virtual TokenSequence with_special_tokens(
      std::span<const std::int32_t> a,
      std::optional<std::span<const std::int32_t>> b = std::nullopt) const;
  /// Every id is below this.
  virtual std::int64_t vocab_size() const = 0;
  /// The token as written in the vocabulary ("##ing", "Ġthe"). Error kData for an invalid id.
  virtual std::string token(std::int32_t id) const = 0;
  /// The inverse of token(); nothing if the vocabulary has no such token.
  virtual std::optional<std::int32_t> id_of(std::string_view token) const = 0;
  virtual const SpecialTokens& special() const = 0;  ///< ids of the tokens with a role
  /// Whether the token stands for no text: those in `special()`, and others declared so.
  virtual bool is_special(std::int32_t id) const;
  /// Whether a token continues the word of the token before it: WordPiece's "##ing"; if words begin
  /// with their space (byte-level, Metaspace), a token without one. False for special tokens.
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

using TokenizerPtr = std::shared_ptr<const Tokenizer>;  ///< a tokenizer shared by datasets

/// From a Hugging Face tokenizer.json, which serialize() writes, or an earlier lockstep format;
/// `name` is its file, for messages. Error kData if it is anything else.
TokenizerPtr tokenizer_from_json(const std::string& json, const std::string& name);

/// The same from a file, which may also be BERT's vocab.txt, or GPT-2's vocab.json with merges.txt
/// beside it; the file's contents decide. Error kData naming the file.
TokenizerPtr load_tokenizer(const std::string& path);

/// Writes the tokenizer.json, as write_file() does. Error kData if it cannot be written.
void save_tokenizer(const Tokenizer& tokenizer, const std::string& path);

}  // namespace lockstep
