#include "trainer/models/model.h"

#include "core/base/error.h"
#include "trainer/models/gpt2.h"
#include "trainer/models/vision.h"

namespace lockstep {

Tensor Model::logits(const Tensor&) const {
  raise(ErrorKind::kUsage, "this model does not generate text; only gpt2 does");
}

std::unique_ptr<Model> make_model(const ModelConfig& config, std::int64_t vocab_size) {
  switch (config.name) {
    case ModelName::kMlp: return std::make_unique<Mlp>(config);
    case ModelName::kLenet: return std::make_unique<Lenet>(config);
    case ModelName::kGpt2: {
      LS_USER_CHECK(config.vocab_size > 0 || vocab_size > 0,
                    "model.vocab_size must be given: the data has no tokenizer to take it from");
      LS_USER_CHECK(config.vocab_size == 0 || config.vocab_size >= vocab_size,
                    "model.vocab_size {} is smaller than the tokenizer's vocabulary of {}",
                    config.vocab_size, vocab_size);
      return std::make_unique<Gpt2>(config, config.vocab_size > 0 ? config.vocab_size : vocab_size);
    }
  }
  __builtin_unreachable();
}

Loss classification_loss(const Tensor& logits, const Tensor& targets, const Batch& batch) {
  TraceContext& context = logits.context();
  const std::int64_t rows = targets.size(0);
  const std::int64_t samples = batch.size();
  const Tensor losses = cross_entropy(logits, targets);         // [N]
  const Tensor correct = correct_predictions(logits, targets);  // [N]
  if (!batch.has("mask")) {
    const Tensor loss = sum(losses);
    const Tensor count = context.constant(static_cast<double>(rows), DType::kI64);
    return {loss, count, {{"accuracy", {sum(correct), count}}}};
  }
  const Tensor weights =
      reshape(broadcast_in_dim(batch["mask"], Shape{samples, rows / samples}, {0}), Shape{rows});
  const Tensor loss = sum(losses * weights);
  const Tensor count = convert(sum(weights), DType::kI64);
  return {loss, count, {{"accuracy", {sum(correct * weights), count}}}};
}

}  // namespace lockstep
