// One token per character (Unicode code point), in order of code point: nanoGPT's
// data/shakespeare_char/prepare.py.
#pragma once

#include <array>
#include <unordered_map>

#include "data/tokenizers/tokenizer.h"

namespace lockstep {

class CharTokenizer final : public Tokenizer {
 public:
  /// Token i is characters[i]. `name` is the file they come from, for messages. Error kData if one
  /// is not exactly one character, or comes twice.
  CharTokenizer(const std::string& name, const std::vector<std::string>& characters);

  /// The sorted characters of `text`. Error kData naming the byte if it is not UTF-8.
  static std::shared_ptr<const CharTokenizer> from_text(const std::string& name,
                                                        std::string_view text);

  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> tokens) const override;
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(characters_.size()); }
  std::string token(std::int32_t id) const override;
  std::optional<std::int32_t> id_of(std::string_view token) const override;
  const SpecialTokens& special() const override { return special_; }
  bool continues_word(std::int32_t id) const override;
  std::string serialize() const override;

 private:
  std::int32_t id_of(char32_t code_point) const;  ///< -1 if it is not in the vocabulary

  SpecialTokens special_;
  std::vector<std::string> characters_;
  std::array<std::int32_t, 128> ascii_;
  std::unordered_map<char32_t, std::int32_t> others_;
};

}  // namespace lockstep
