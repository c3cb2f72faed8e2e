// Byte-pair encoding (Sennrich et al. 2016): a word starts as its characters, and the adjacent pair
// of tokens that comes first in the list of merges is joined until no pair is in the list. Source
// of the options' meaning: huggingface/tokenizers, tokenizers/src/models/bpe/model.rs.
//
//   merges                     "a b", or ["a", "b"], which may have spaces within
//   unk_token, fuse_unk        stands for an unknown character; for a run of them
//   byte_fallback              the bytes of an unknown character, as <0x00> ... <0xFF>
//   ignore_merges              a word that is a token stays one
//   continuing_subword_prefix  begins each character of a word but the first
//   end_of_word_suffix         ends the last
//
// Without unk_token and byte_fallback an unknown character is an error (huggingface/tokenizers
// drops it silently).
#pragma once

#include <array>

#include "data/tokenizers/token_model.h"

namespace lockstep {

class BpeModel final : public TokenModel {
 public:
  explicit BpeModel(const JsonPlace& json);

  /// Takes n log n time for n characters.
  void encode(std::string_view word, std::vector<std::int32_t>& out) const override;
  const std::string& continuing_prefix() const override { return prefix_; }
  std::optional<std::int32_t> unk() const override { return unk_; }

 private:
  struct Merge {
    std::int32_t left;
    std::int32_t right;
    std::int32_t merged;  ///< the token that replaces the pair
  };
  static constexpr std::uint32_t kNoMerge = UINT32_MAX;

  void read_merges(const JsonPlace& json);
  void index_characters();
  /// The rank of a pair, or kNoMerge.
  std::uint32_t find_merge(std::int32_t left, std::int32_t right) const;
  /// The index in `slots_` of a pair's rank, or where it would be.
  std::size_t slot_of(std::int32_t left, std::int32_t right) const;
  void append_characters(std::string_view word, std::vector<std::int32_t>& out) const;
  std::optional<std::int32_t> character_id(std::string_view character, bool first, bool last) const;
  bool append_bytes(std::string_view character, std::vector<std::int32_t>& out) const;
  void merge(std::vector<std::int32_t>& tokens) const;

  std::string prefix_;
  std::string suffix_;
  std::optional<std::int32_t> unk_;
  bool fuse_unk_;
  bool byte_fallback_;
  bool ignore_merges_;
  std::vector<Merge> merges_;         ///< by rank; the lowest rank is merged first
  std::vector<std::uint32_t> slots_;  ///< ranks, hashed by pair; a power of two, at most half full
  std::array<std::int32_t, 0x180> early_;  ///< ids of the first characters; -1 for none
  std::array<std::int32_t, 256> bytes_;    ///< ids of <0x00> ...; -1 for none
};

}  // namespace lockstep
