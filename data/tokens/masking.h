// Masked language modelling (Devlin et al., arXiv:1810.04805; Hugging Face's run_mlm): 80 % of the
// chosen tokens become the mask token, 10 % a random token of the whole vocabulary, and 10 % do not
// change; the model predicts the original tokens. The masks are new in each epoch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/samples/dataset.h"
#include "data/tokenizers/tokenizer.h"

namespace lockstep {

struct Masking {
  double probability = 0.15;  ///< of each token, or each word, to be chosen
  bool whole_words = false;   ///< all tokens of a word are chosen, or none
};

/// The facts about a vocabulary that masking needs.
struct MaskVocabulary {
  std::int32_t mask = 0;
  std::int64_t size = 0;  ///< random tokens are below it
  /// By token; tokens beyond the end have neither property.
  std::vector<bool> special = {};         ///< never chosen
  std::vector<bool> continues_word = {};  ///< continues the word of the token before it

  /// Error kUsage if the tokenizer has no mask token.
  static MaskVocabulary of(const Tokenizer& tokenizer);
};

/// Samples of another dataset with a field "tokens" i32 [L], some of them masked, and "targets" i32
/// [L]: the original tokens, or kNoTarget where none was chosen. The choice depends on index, seed
/// and epoch, and in an evaluation only on index and seed.
class MaskedDataset final : public Dataset {
 public:
  /// Error kUsage for a probability outside (0, 1].
  MaskedDataset(DatasetPtr whole, MaskVocabulary vocabulary, const Masking& masking);

  std::int64_t size() const override { return whole_->size(); }
  std::vector<FieldSpec> fields() const override;
  /// As in an evaluation with seed 0.
  Sample get(std::int64_t index) const override { return draw(index, {}); }
  Sample draw(std::int64_t index, const DrawKey& key) const override;
  std::map<std::string, std::int64_t> lengths(std::int64_t index) const override;
  /// Of the original data, not of the masks.
  std::string digest() const override { return whole_->digest(); }
  std::string describe() const override;
  std::string source(std::int64_t index) const override { return whole_->source(index); }

 private:
  DatasetPtr whole_;
  MaskVocabulary vocabulary_;
  Masking masking_;
};

}  // namespace lockstep
