#include "trainer/optimizers/optimizer_step.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/trace/origin_scope.h"

namespace lockstep {
namespace {

constexpr std::int64_t kNormBlock = std::int64_t{16} * 1024;
/// Keeps the clipping factor finite for a zero gradient; PyTorch's clip_grad_norm_ uses the same.
constexpr double kClipEpsilon = 1e-6;

/// Gradients summed over the micro-batches, in the parameters' order. They are recorded last
/// parameter first: the backward pass finishes them in that order, and buckets follow it.
std::vector<Tensor> reduce_gradients(std::span<const Tensor> gradients) {
  std::vector<Tensor> out(gradients.size());
  for (std::size_t i = gradients.size(); i-- > 0;) out[i] = all_reduce(gradients[i]);
  return out;
}

/// The values of parameters, one each, ordered by the parameters' names.
std::vector<Tensor> in_name_order(std::span<Parameter* const> parameters,
                                  std::span<const Tensor> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return parameters[a]->name < parameters[b]->name;
  });
  std::vector<Tensor> out;
  out.reserve(order.size());
  for (const std::size_t i : order) out.push_back(values[i]);
  return out;
}

/// What one rank must tell the others with a step, in the order in which StepNumbers has it. Each
/// is an input, 1 or 0, and is summed by itself: no flag hides another.
std::vector<Tensor> rank_flags(TraceContext& context, const UpdateOptions& options) {
  const auto on_any_rank = [&](bool mine, std::string_view name) {
    return all_reduce(context.scalar(mine ? 1.0 : 0.0, DType::kI64, name));
  };
  return {on_any_rank(options.warned, "trainer.warned"),
          on_any_rank(options.stop_requested, "trainer.stop_requested"),
          on_any_rank(options.save_failed, "trainer.save_failed")};
}

/// 0, or NaN if an element is not finite. Fused with the op that makes the value, so that it reads
/// no memory. Slots need no check: with a finite norm they only blow up together with their
/// parameter.
Tensor sum_of_zeros(const Tensor& value) {
  return sum(value - value);
}

Tensor summarize(std::span<const Tensor> scalars) {
  std::vector<Tensor> parts;
  for (const Tensor& scalar : scalars)
    parts.push_back(reshape(convert(scalar, DType::kF32), Shape{1}));
  return concatenate(parts, 0);
}

/// The metrics over all micro-batches of the step: for each its value, and whether it has one.
class StepMetrics {
 public:
  StepMetrics(const Loss& loss, const Tensor& count, const Tensor& inverse_count)
      : loss_count_(loss.count), count_(count), inverse_count_(inverse_count) {
    for (const auto& [name, ratio] : loss.metrics) add(ratio);
  }
  const std::vector<Tensor>& values() const { return values_; }

 private:
  void add(const Ratio& ratio) {
    const bool shared = ratio.count.handle() == loss_count_.handle();
    const Tensor count = shared ? count_ : convert(all_reduce(ratio.count), DType::kF32);
    const Tensor sum = all_reduce(convert(ratio.sum, DType::kF32));
    values_.push_back(sum * (shared ? inverse_count_ : 1.0 / count));
    values_.push_back(count);
  }

  Tensor loss_count_, count_, inverse_count_;
  std::vector<Tensor> values_;
};

bool is_defined(const Tensor& tensor) {
  return tensor.defined();
}

/// The rules of all groups, with the numbers of this step.
class Rules {
 public:
  Rules(const UpdatedState& state, TraceContext& context, const UpdateOptions& options)
      : state_(state), all_(state.optimizer.scalars(context, options.step, options.learning_rate)) {
    const double peak = state.optimizer.learning_rate();
    const double scale = peak == 0 ? 1.0 : options.learning_rate / peak;  // the schedule's
    for (const auto& [name, rule] : state.groups)
      groups_[name] = rule.scalars(context, options.step, rule.learning_rate() * scale);
  }
  std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                             std::span<const Tensor> slots) const {
    const auto group = state_.groups.find(parameter.group);
    std::vector<Tensor> out =
        group == state_.groups.end()
            ? state_.optimizer.update(parameter, gradient, slots, all_)
            : group->second.update(parameter, gradient, slots, groups_.at(parameter.group));
    LS_USER_CHECK(out.size() == slots.size() + 1 && std::ranges::all_of(out, &is_defined),
                  "the optimizer's update of '{}' must give its value and that of each of its {} "
                  "slots, and gives {} tensors{}",
                  parameter.name, slots.size(), out.size(),
                  std::ranges::all_of(out, &is_defined) ? "" : ", of which one is undefined");
    return out;
  }

 private:
  const UpdatedState& state_;
  std::vector<Tensor> all_;
  std::map<std::string, std::vector<Tensor>> groups_;
};

/// Buffers whose modules ran in this step get their new values, if the step counts.
void update_buffers(ModuleBufferSet& buffers, const Tensor& apply) {
  TraceContext& context = apply.context();
  Tensor micro_batches;  // of the step
  for (ModuleBuffer& buffer : buffers.all()) {
    const std::vector<ModuleBuffer::Update> updates = buffer.take_updates();
    if (updates.empty()) continue;
    const ModuleScope scope(context, buffer.name);
    Tensor next = buffer.get();
    for (const ModuleBuffer::Update& update : updates) {
      Tensor mean;
      if (update.contribution.defined()) {
        if (!micro_batches.defined())
          micro_batches = convert(all_reduce(context.constant(1.0, DType::kI64)), DType::kF32);
        mean = all_reduce(convert(update.contribution, DType::kF32)) / micro_batches;
      }
      next = update.rule(next, mean);
      LS_USER_CHECK(next.defined(), "the update rule of buffer '{}' gives an undefined tensor",
                    buffer.name);
      LS_USER_CHECK(next.type() == buffer.value.type(),
                    "the update rule of buffer '{}' gives {}, but the buffer is {}", buffer.name,
                    next.type().to_string(), buffer.value.type().to_string());
    }
    buffer.value.assign(select(apply, next, buffer.value));
  }
}

}  // namespace

StepSummary StepNumbers::read(std::source_location where) const {
  constexpr std::size_t kFixed = 7;
  const std::vector<double> v = to_doubles(values.to_host(where));
  StepSummary out;
  out.loss = v[0];
  out.grad_norm = v[1];
  out.finite = v[2] != 0;
  out.state_finite = v[3] != 0;
  out.warned = v[4] != 0;
  out.stop = v[5] != 0;
  out.save_failed = v[6] != 0;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    if (v[kFixed + 2 * i + 1] != 0) out.metrics[metrics[i]] = v[kFixed + 2 * i];
  return out;
}

Tensor sum_of_squares(std::span<const Tensor> tensors) {
  LS_USER_CHECK(!tensors.empty(), "the sum of squares needs at least one tensor");
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

StepNumbers optimizer_step(const UpdatedState& state, const Loss& loss,
                           std::span<const Tensor> gradients, const UpdateOptions& options) {
  TraceContext& context = loss.sum.context();
  const ModuleScope scope(context, "optimizer_step");
  std::optional<CallerScope> line(context);
  const std::span<Parameter* const> parameters = state.parameters;
  LS_CHECK(gradients.size() == parameters.size(), "{} gradients for {} parameters",
           gradients.size(), parameters.size());
  const std::vector<Tensor> sums = reduce_gradients(gradients);

  const Tensor count = convert(all_reduce(loss.count), DType::kF32);
  // If the count is 0, for example if no token was masked, loss and gradients are 0.
  const Tensor inverse_count = 1.0 / select(equal(count, 0.0), 1.0, count);
  const Tensor mean_loss = all_reduce(convert(loss.sum, DType::kF32)) * inverse_count;
  const StepMetrics metrics(loss, count, inverse_count);
  const std::vector<Tensor> flags = rank_flags(context, options);

  const Tensor grad_norm = sqrt(sum_of_squares(in_name_order(parameters, sums))) * inverse_count;
  const Tensor finite = logical_and(is_finite(grad_norm), is_finite(mean_loss));
  const Tensor apply = logical_and(finite, state.state_finite);
  Tensor scale = inverse_count;
  if (options.clip_norm > 0) {
    const ModuleScope clip(context, "gradient_clip");
    scale = scale * minimum(options.clip_norm / (grad_norm + kClipEpsilon), 1.0);
  }

  const Rules rules(state, context, options);
  std::vector<Tensor> zeros;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Parameter& parameter = *parameters[i];
    const ModuleScope parameter_scope(context, parameter.name);
    std::vector<Tensor> slots;
    for (const std::string& name : state.optimizer.slots())
      slots.push_back(state.slots.at(name)[i]);
    const Tensor gradient = sums[i] * scale;
    line.reset();  // a user's rule has its own source lines
    const std::vector<Tensor> next = rules.update(parameter, gradient, slots);
    line.emplace(context);
    // A non-finite step changes nothing.
    parameter.value.assign(select(apply, next[0], parameter.value));
    zeros.push_back(reshape(sum_of_zeros(parameter.value), Shape{1}));
    if (parameter.copy.defined())
      parameter.copy.assign(convert(parameter.value, parameter.copy.dtype()));
    if (!state.averages.empty()) {
      Tensor& average = state.averages[i];
      const Tensor moved = average + (parameter.value - average) * (1.0 - state.average_decay);
      average.assign(select(apply, moved, average));
    }
    for (std::size_t s = 0; s < slots.size(); ++s)
      slots[s].assign(select(apply, next[s + 1], slots[s]));
  }
  line.reset();
  update_buffers(state.buffers, apply);
  line.emplace(context);
  Tensor still_finite = logical_and(state.state_finite, is_finite(sum(concatenate(zeros, 0))));
  if (options.stop_at_nonfinite) {
    const ModuleScope setting(context, "on_nonfinite");
    still_finite = logical_and(still_finite, finite);
  }
  state.state_finite.assign(still_finite);

  StepNumbers out;
  std::vector<Tensor> numbers{mean_loss, grad_norm, finite, still_finite};
  numbers.insert(numbers.end(), flags.begin(), flags.end());
  numbers.insert(numbers.end(), metrics.values().begin(), metrics.values().end());
  out.values = summarize(numbers);
  for (const auto& [name, ratio] : loss.metrics) out.metrics.push_back(name);
  return out;
}

}  // namespace lockstep
