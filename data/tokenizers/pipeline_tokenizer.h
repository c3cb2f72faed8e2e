// The tokenizer that a Hugging Face tokenizer.json describes, run as by the library
// huggingface/tokenizers: added tokens are found in the text, the rest is normalized (normalizer.h)
// and cut into words (pre_tokenizer.h), and each word becomes tokens (token_model.h);
// post_processor.h adds special tokens, decoder.h turns tokens into text.
//
// Differences in lockstep: a character that cannot be expressed is an error and is not dropped;
// with a vocabulary of bytes, any bytes can be encoded; the file's truncation and padding are not
// applied, because batches are padded elsewhere.
#pragma once

#include <unordered_map>

#include "core/base/json_place.h"
#include "data/tokenizers/added_tokens.h"
#include "data/tokenizers/decoder.h"
#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/post_processor.h"
#include "data/tokenizers/pre_tokenizer.h"
#include "data/tokenizers/token_model.h"
#include "data/tokenizers/tokenizer.h"

namespace lockstep {

class PipelineTokenizer final : public Tokenizer {
 public:
  /// Error kData naming file and place of anything damaged, missing or unknown.
  explicit PipelineTokenizer(const JsonPlace& document);

  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> tokens) const override;
  std::unique_ptr<Decoding> decoding() const override;
  TokenSequence with_special_tokens(std::span<const std::int32_t> a,
                                    std::optional<std::span<const std::int32_t>> b) const override {
    return post_processor_.apply(a, b);
  }
  std::int64_t vocab_size() const override { return vocab_size_; }
  std::string token(std::int32_t id) const override;
  std::optional<std::int32_t> id_of(std::string_view token) const override;
  const SpecialTokens& special() const override { return special_; }
  bool is_special(std::int32_t id) const override;
  bool continues_word(std::int32_t id) const override;
  std::string serialize() const override { return document_; }

 private:
  class Encoding;
  class Decoded;

  std::optional<std::int32_t> first_known(std::initializer_list<std::string_view> names) const;
  void find_special_tokens();
  void find_texts(const JsonPlace& decoder);
  void find_word_begin();

  std::string document_;
  std::unique_ptr<const Normalizer> normalizer_;  ///< may be null
  WordCutter cutter_;
  std::unique_ptr<const TokenModel> model_;
  std::unique_ptr<const AddedTokens> added_;
  PostProcessor post_processor_;
  std::unique_ptr<const Decoder> decoder_;
  std::int64_t vocab_size_ = 0;
  SpecialTokens special_;
  std::string word_begin_;          ///< prefix of tokens that begin a word; "" if unknown
  std::vector<std::string> texts_;  ///< by id; empty if a token's text depends on its place
};

}  // namespace lockstep
