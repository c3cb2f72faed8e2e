// A tokenizer with every special token, like those of masked language models.
#pragma once

#include "data/tokenizers/tokenizer.h"

namespace lockstep {

/// Letters 'a' to 'e' are tokens 0 to 4, of which 'd' and 'e' continue a word; then come [CLS] 5,
/// [SEP] 6, which ends a text, [MASK] 7 and [PAD] 8.
class MarkingTokenizer final : public Tokenizer {
 public:
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> out;
    for (const char letter : text) out.push_back(letter - 'a');
    return out;
  }
  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string out;
    for (const std::int32_t id : tokens) out += token(id);
    return out;
  }
  TokenSequence with_special_tokens(
      std::span<const std::int32_t> a,
      std::optional<std::span<const std::int32_t>> /*b*/ = std::nullopt) const override {
    TokenSequence out{{5}, {}};
    out.ids.insert(out.ids.end(), a.begin(), a.end());
    out.ids.push_back(6);
    out.type_ids.assign(out.ids.size(), 0);
    return out;
  }
  std::int64_t vocab_size() const override { return 9; }
  std::string token(std::int32_t id) const override {
    return std::string(1, static_cast<char>('a' + id));
  }
  std::optional<std::int32_t> id_of(std::string_view /*token*/) const override { return {}; }
  const SpecialTokens& special() const override { return special_; }
  bool continues_word(std::int32_t id) const override { return id == 3 || id == 4; }
  std::string serialize() const override { return "{}"; }

 private:
  SpecialTokens special_{.unk = {}, .pad = 8, .cls = 5, .sep = 6, .mask = 7, .bos = {}, .eos = 6};
};

}  // namespace lockstep
