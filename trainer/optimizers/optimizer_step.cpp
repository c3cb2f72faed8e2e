#include "trainer/optimizers/optimizer_step.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::int64_t kNormBlock = 16 * 1024;
/// Keeps the clipping factor finite for a zero gradient; PyTorch's clip_grad_norm_ uses the same.
constexpr double kClipEpsilon = 1e-6;

/// Gradients summed over the shards, in the parameters' order. They are recorded last parameter
/// first: the backward pass finishes them in that order, and buckets follow it.
std::vector<Tensor> reduce_gradients(std::span<const Tensor> gradients) {
  std::vector<Tensor> out(gradients.size());
  for (std::size_t i = gradients.size(); i-- > 0;) out[i] = all_reduce(gradients[i]);
  return out;
}

std::vector<Tensor> in_name_order(const ParameterSet& parameters, std::span<const Tensor> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return parameters.all()[a].name < parameters.all()[b].name;
  });
  std::vector<Tensor> out;
  for (const std::size_t i : order) out.push_back(values[i]);
  return out;
}

/// What a rank has to tell the others, as one number that is summed over shards.
constexpr std::int64_t kStopRequested = 1;
constexpr std::int64_t kSaveFailed = std::int64_t{1} << 32;  // more than there are shards

std::int64_t news(const UpdateOptions& options) {
  return (options.stop_requested ? kStopRequested : 0) + (options.save_failed ? kSaveFailed : 0);
}

/// 0, or NaN if an element is not finite. Fused with what makes the value: nothing is read for it.
/// Slots need none: with a finite norm they only blow up together with their parameter.
Tensor sum_of_zeros(const Tensor& value) {
  return sum(value - value);
}

Tensor summarize(std::initializer_list<Tensor> scalars) {
  std::vector<Tensor> parts;
  for (const Tensor& scalar : scalars)
    parts.push_back(reshape(convert(scalar, DType::kF32), Shape{1}));
  return concatenate(parts, 0);
}

}  // namespace

StepSummary StepResult::read() const {
  const std::vector<double> v = to_doubles(summary.to_host());
  const double news = v[5];
  return {.loss = v[0],
          .accuracy = v[1],
          .grad_norm = v[2],
          .finite = v[3] != 0,
          .sound = v[4] != 0,
          .stop = news > 0 && news < static_cast<double>(kSaveFailed),
          .save_failed = news >= static_cast<double>(kSaveFailed)};
}

Tensor sum_of_squares(std::span<const Tensor> tensors) {
  LS_USER_CHECK(!tensors.empty(), "the sum of squares of no tensors has no trace to be in");
  std::vector<Tensor> blocks;
  for (const Tensor& tensor : tensors) {
    const std::int64_t n = tensor.shape().elements();
    const std::int64_t whole = n / kNormBlock;
    const Tensor flat = reshape(tensor, Shape{n});
    if (whole > 0) {
      const Tensor rows =
          reshape(slice_dim(flat, 0, 0, whole * kNormBlock), Shape{whole, kNormBlock});
      blocks.push_back(reduce_sum(rows * rows, {1}));
    }
    if (n % kNormBlock == 0) continue;
    const Tensor tail = slice_dim(flat, 0, whole * kNormBlock, n);
    blocks.push_back(reduce_sum(tail * tail, {0}, true));
  }
  if (blocks.empty()) return tensors[0].context().constant(0.0, tensors[0].dtype());
  return sum(concatenate(blocks, 0));
}

StepResult optimizer_step(const Optimizer& optimizer, ParameterSet& parameters,
                          OptimizerState& state, Tensor& sound, const ModelOutput& output,
                          std::span<const Tensor> gradients, const UpdateOptions& options) {
  TraceContext& context = output.loss_sum.context();
  const ModuleScope scope(context, "optimizer_step");
  const std::vector<Tensor> sums = reduce_gradients(gradients);

  const Tensor count = convert(all_reduce(output.count), DType::kF32);
  const Tensor inverse_count = 1.0 / count;
  const Tensor loss = all_reduce(output.loss_sum) * inverse_count;
  const Tensor accuracy = all_reduce(output.correct_sum) * inverse_count;
  const Tensor all_news =
      all_reduce(context.scalar(static_cast<double>(news(options)), DType::kI64, "trainer.news"));

  const Tensor grad_norm = sqrt(sum_of_squares(in_name_order(parameters, sums))) * inverse_count;
  const Tensor finite = logical_and(is_finite(grad_norm), is_finite(loss));
  const Tensor apply = logical_and(finite, sound);
  Tensor scale = inverse_count;
  if (options.clip_norm > 0)
    scale = scale * minimum(options.clip_norm / (grad_norm + kClipEpsilon), 1.0);

  const std::vector<Tensor> scalars =
      optimizer.scalars(context, options.step, options.learning_rate);
  const std::vector<std::string> slot_names = optimizer.slots();
  std::vector<Tensor> zeros;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Parameter& parameter = parameters.all()[i];
    const ModuleScope parameter_scope(context, parameter.name);
    std::vector<Tensor> slots;
    for (const std::string& name : slot_names) slots.push_back(state.at(name)[i]);
    const std::vector<Tensor> next = optimizer.update(parameter, sums[i] * scale, slots, scalars);
    // A step that is not finite changes nothing.
    parameter.value.assign(select(apply, next[0], parameter.value));
    zeros.push_back(reshape(sum_of_zeros(parameter.value), Shape{1}));
    if (parameter.copy.defined())
      parameter.copy.assign(convert(parameter.value, parameter.copy.dtype()));
    for (std::size_t s = 0; s < slots.size(); ++s)
      slots[s].assign(select(apply, next[s + 1], slots[s]));
  }
  Tensor still_sound = logical_and(sound, is_finite(sum(concatenate(zeros, 0))));
  if (options.stop_at_nonfinite) still_sound = logical_and(still_sound, finite);
  sound.assign(still_sound);
  return {summarize({loss, accuracy, grad_norm, finite, still_sound, all_news})};
}

}  // namespace lockstep
