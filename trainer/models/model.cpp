#include "trainer/models/model.h"

#include "core/base/error.h"
#include "data/images/soft_labels.h"

namespace lockstep {
namespace {

/// Of losses and correct predictions [N].
Loss sum_of_rows(const Tensor& losses, const Tensor& correct, const Batch& batch) {
  TraceContext& context = losses.context();
  const std::int64_t rows = losses.size(0);
  const std::int64_t samples = batch.size();
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

/// Of each sample what `of` gives for its label, or for the two that it is mixed of.
template <class F>
Tensor of_labels(const Batch& batch, const F& of) {
  const Tensor own = of(batch["label"]);
  if (!batch.has(kMixLabel)) return own;
  const Tensor& weight = batch[kMixWeight];
  return weight * own + (1.0 - weight) * of(batch[kMixLabel]);
}

}  // namespace

Tensor Model::next_logits(const Tensor&, KeyValueCache&) const {
  raise(ErrorKind::kUsage, "this model keeps nothing of the tokens before");
}

Tensor Model::logits(const Tensor&) const {
  raise(ErrorKind::kUsage, "this model does not generate text");
}

Loss classification_loss(const Tensor& logits, const Tensor& targets, const Batch& batch) {
  return sum_of_rows(cross_entropy(logits, targets), correct_predictions(logits, targets), batch);
}

Loss classification_loss(const Tensor& logits, const Batch& batch) {
  Tensor losses =
      of_labels(batch, [&](const Tensor& label) { return cross_entropy(logits, label); });
  if (batch.has(kLabelSmoothing)) {
    const Tensor& smoothing = batch[kLabelSmoothing];
    const Tensor of_any = -mean(log_softmax(convert(logits, DType::kF32), 1), {1});
    losses = (1.0 - smoothing) * losses + smoothing * of_any;
  }
  const Tensor correct =
      of_labels(batch, [&](const Tensor& label) { return correct_predictions(logits, label); });
  Loss out = sum_of_rows(losses, correct, batch);
  out.outputs = {{"label", batch["label"]},
                 {"logits", logits},
                 {"prediction", convert(arg_max(logits, 1), DType::kI32)}};
  return out;
}

}  // namespace lockstep
