#include "trainer/models/model.h"

#include "core/base/error.h"

namespace lockstep {

Tensor Model::next_logits(const Tensor&, KeyValueCache&) const {
  raise(ErrorKind::kUsage, "this model keeps nothing of the tokens before");
}

Tensor Model::logits(const Tensor&) const {
  raise(ErrorKind::kUsage, "this model does not generate text");
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
