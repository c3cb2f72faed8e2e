// Byte-level byte-pair encoding, as GPT-2's (Radford et al. 2019; openai/gpt-2, src/encoder.py):
// text is cut into pieces (pretokenizer.h), each piece starts as its bytes, and the adjacent pair
// of tokens that comes first in the list of merges is joined until no pair is in the list.
//
// Any byte sequence can be encoded and comes back unchanged. The text "<|endoftext|>", if it is in
// the vocabulary, becomes its own token, as in Hugging Face's GPT2Tokenizer.
#pragma once

#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "data/tokenizers/pretokenizer.h"
#include "data/tokenizers/tokenizer.h"

namespace lockstep {

class BpeTokenizer final : public Tokenizer {
 public:
  using Vocabulary = std::map<std::string, std::int32_t>;  ///< byte-level text (byte_level.h) -> id
  using Pair = std::pair<std::string, std::string>;

  /// `merges` in order of priority; `name` is where they come from, for messages. Error kData if an
  /// id is negative, missing or taken twice, a byte has no token, or a merge names or makes
  /// something that is not in the vocabulary.
  BpeTokenizer(const std::string& name, Vocabulary vocabulary, std::vector<Pair> merges);

  /// Hugging Face's and OpenAI's pair of files: vocab.json (encoder.json) and merges.txt
  /// (vocab.bpe). Error kData naming the file, and the line of merges.txt.
  static std::shared_ptr<const BpeTokenizer> from_files(const std::string& vocab_path,
                                                        const std::string& merges_path);

  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> tokens) const override;
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(bytes_of_.size()); }
  std::string token(std::int32_t id) const override;
  std::optional<std::int32_t> id_of(std::string_view token) const override;
  const SpecialTokens& special() const override { return special_; }
  bool continues_word(std::int32_t id) const override;
  std::string serialize() const override;

 private:
  struct Merge {
    std::int32_t rank;    ///< lower goes first
    std::int32_t merged;  ///< the token that replaces the pair
  };
  using Word = std::vector<std::int32_t>;

  void index_vocabulary(const std::string& name);
  void index_merges(const std::string& name);
  /// Error kData, naming `name`, if it is not in the vocabulary.
  std::int32_t need_id(const std::string& name, const std::string& token) const;
  const Merge* find_merge(std::int32_t left, std::int32_t right) const;
  Word encode_piece(std::string_view piece) const;
  void encode_ordinary(std::string_view text, std::vector<std::int32_t>& out,
                       std::unordered_map<std::string_view, Word>& cache) const;

  Vocabulary vocabulary_;
  std::vector<Pair> merges_;
  std::vector<std::string> bytes_of_;                  ///< by id
  std::array<std::int32_t, 256> byte_tokens_;          ///< by byte
  std::unordered_map<std::uint64_t, Merge> merge_of_;  ///< by left id << 32 | right id
  std::vector<std::string> tokens_;                    ///< by id
  SpecialTokens special_;
  Pretokenizer pretokenizer_;
};

}  // namespace lockstep
