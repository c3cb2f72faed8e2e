#include "trainer/models/gpt2/gpt2.h"

namespace lockstep {

Gpt2::Gpt2(const Gpt2Config& config, const DataFacts& data)
    : decoder_(*this, config, vocabulary_size(config.vocab_size, data)) {}

Loss Gpt2::operator()(const Batch& batch) const {
  const Tensor scores = decoder_.logits(TokenInputs::of(batch));
  return has_ignored_targets(batch) ? chosen_token_loss(scores, batch) : token_loss(scores, batch);
}

Tensor Gpt2::logits(const Tensor& tokens) const {
  return decoder_.logits(TokenInputs{tokens});
}

}  // namespace lockstep
