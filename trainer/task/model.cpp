#include "trainer/task/model.h"

#include "core/base/error.h"
#include "core/trace/functions.h"
#include "core/trace/mode.h"
#include "data/images/soft_labels.h"

namespace lockstep {
namespace {

/// Losses and other counted values [N], by name.
Loss sum_of_rows(const Tensor& losses, const std::map<std::string, Tensor>& counted,
                 const Batch& batch) {
  const std::int64_t rows = losses.size(0);
  const std::int64_t samples = batch.size();
  Loss out;
  Tensor weights;
  if (batch.has("mask"))
    weights =
        reshape(broadcast_in_dim(batch["mask"], Shape{samples, rows / samples}, {0}), Shape{rows});
  const auto total = [&](const Tensor& x) { return sum(weights.defined() ? x * weights : x); };
  out.sum = total(losses);
  out.count = weights.defined() ? convert(sum(weights), DType::kI64)
                                : losses.context().constant(static_cast<double>(rows), DType::kI64);
  for (const auto& [name, values] : counted) out.metrics[name] = {total(values), out.count};
  return out;
}

constexpr std::int64_t kTop = 5;

/// 1 where the target's logit [N,V] is among the five largest of its row, else 0: f32 [N]. Of equal
/// logits the first ones rank higher, as in arg_max. Counts those that are not larger, so that a
/// NaN does not count as a hit.
Tensor in_top_five(const Tensor& logits, const Tensor& targets) {
  const Tensor wide = convert(logits, DType::kF32);
  const Tensor classes = iota(wide.context(), wide.shape(), 1, DType::kI32);
  const Tensor target = broadcast_in_dim(convert(targets, DType::kI32), wide.shape(), {0});
  const Tensor own = reduce_sum(select(equal(classes, target), wide, 0.0), {1}, true);
  const Tensor behind =
      select(greater_equal(classes, target), less_equal(wide, own), less(wide, own));
  const Tensor count = reduce_sum(convert(behind, DType::kF32), {1});
  return convert(greater(count, static_cast<double>(wide.size(1) - kTop)), DType::kF32);
}

/// For each sample the value of `of` for its label, or for its two mixed labels.
template <class F>
Tensor of_labels(const Batch& batch, const F& of) {
  Tensor own = of(batch["label"]);
  if (!batch.has(kMixLabel)) return own;
  const Tensor& weight = batch[kMixWeight];
  return weight * own + (1.0 - weight) * of(batch[kMixLabel]);
}

}  // namespace

Tensor Model::next_logits(const Tensor&, KeyValueCache&) const {
  raise(ErrorKind::kUsage, "this model has no cache of keys and values");
}

void Model::remember(const Batch&, KeyValueCache&) const {
  raise(ErrorKind::kUsage, "this model generates text from text only");
}

Tensor Model::logits_in_place(const Batch&) const {
  raise(ErrorKind::kUsage, "this model does not predict masked tokens");
}

Tensor Model::logits(const Tensor&) const {
  raise(ErrorKind::kUsage, "this model does not generate text");
}

Loss classification_loss(const Tensor& logits, const Tensor& targets, const Batch& batch,
                         Where where) {
  context_of("classification_loss", {&logits, &targets}, where);
  return sum_of_rows(cross_entropy(logits, targets),
                     {{"accuracy", correct_predictions(logits, targets)}}, batch);
}

Loss classification_loss(const Tensor& logits, const Batch& batch, Where where) {
  context_of("classification_loss", {&logits}, where);
  Tensor losses =
      of_labels(batch, [&](const Tensor& label) { return cross_entropy(logits, label); });
  if (batch.has(kLabelSmoothing)) {
    const Tensor& smoothing = batch[kLabelSmoothing];
    const Tensor of_any = -mean(log_softmax(convert(logits, DType::kF32), 1), {1});
    losses = (1.0 - smoothing) * losses + smoothing * of_any;
  }
  std::map<std::string, Tensor> counted;
  counted["accuracy"] =
      of_labels(batch, [&](const Tensor& label) { return correct_predictions(logits, label); });
  if (!mode_of(logits).training && logits.size(1) > kTop)
    counted["top5"] = in_top_five(logits, batch["label"]);
  Loss out = sum_of_rows(losses, counted, batch);
  out.outputs = {{"label", batch["label"]},
                 {"logits", logits},
                 {"prediction", convert(arg_max(logits, 1), DType::kI32)}};
  return out;
}

}  // namespace lockstep
