#include "trainer/models/model.h"

#include "core/base/error.h"
#include "trainer/models/gpt2.h"
#include "trainer/models/vision.h"

namespace lockstep {

Model::Model(Precision precision)
    : compute_dtype_(precision == Precision::kFp32 ? DType::kF32 : DType::kBF16) {}

Tensor Model::logits(const Tensor&, const Forward&) {
  raise(ErrorKind::kUsage, "this model does not generate text; only gpt2 does");
}

std::unique_ptr<Model> make_model(const ModelConfig& config, std::int64_t vocab_size,
                                  Precision precision) {
  switch (config.name) {
    case ModelName::kMlp: return std::make_unique<Mlp>(config, precision);
    case ModelName::kLenet: return std::make_unique<Lenet>(config, precision);
    case ModelName::kGpt2: {
      LS_USER_CHECK(config.vocab_size > 0 || vocab_size > 0,
                    "model.vocab_size must be given: the data has no tokenizer to take it from");
      LS_USER_CHECK(config.vocab_size == 0 || config.vocab_size >= vocab_size,
                    "model.vocab_size {} is smaller than the tokenizer's vocabulary of {}",
                    config.vocab_size, vocab_size);
      return std::make_unique<Gpt2>(config, config.vocab_size > 0 ? config.vocab_size : vocab_size,
                                    precision);
    }
  }
  __builtin_unreachable();
}

ModelOutput classification_output(const Tensor& logits, const Tensor& targets,
                                  const TensorMap& batch, std::int64_t batch_size) {
  TraceContext& context = logits.context();
  const std::int64_t rows = targets.size(0);
  Tensor losses = cross_entropy(logits, targets);         // [N]
  Tensor correct = correct_predictions(logits, targets);  // [N]
  const auto mask = batch.find("mask");
  if (mask == batch.end())
    return {sum(losses), context.constant(static_cast<double>(rows), DType::kI64), sum(correct)};
  const Tensor weights = reshape(
      broadcast_in_dim(mask->second, Shape{batch_size, rows / batch_size}, {0}), Shape{rows});
  return {sum(losses * weights), convert(sum(weights), DType::kI64), sum(correct * weights)};
}

}  // namespace lockstep
