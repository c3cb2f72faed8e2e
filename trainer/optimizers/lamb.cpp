#include "trainer/optimizers/lamb.h"

#include "core/trace/origin_scope.h"
#include "trainer/optimizers/adam_moments.h"
#include "trainer/optimizers/optimizer_step.h"

namespace lockstep {
namespace {

Tensor norm_of(const Tensor& x) {
  return sqrt(sum_of_squares({&x, 1}));
}

/// |p| / |u|, or 1 if one of them is 0.
Tensor trust_ratio(const Tensor& p, const Tensor& u) {
  const Tensor size = norm_of(p);
  const Tensor length = norm_of(u);
  const Tensor both = logical_and(greater(size, 0.0), greater(length, 0.0));
  return select(both, size / select(both, length, 1.0), 1.0);
}

}  // namespace

std::vector<Key> Lamb::keys() {
  return {{.name = "learning_rate",
           .member = bind<&Lamb::learning_rate>(),
           .range = at_least(0),
           .doc = "Peak learning rate.",
           .required = true},
          {.name = "betas",
           .member = bind<&Lamb::betas>(),
           .range = fraction(),
           .doc = "Decay of the running mean of the gradient and of its square."},
          {.name = "eps",
           .member = bind<&Lamb::eps>(),
           .range = above(0),
           .doc = "Added to the denominator."},
          {.name = "weight_decay",
           .member = bind<&Lamb::weight_decay>(),
           .range = at_least(0),
           .doc = "Decay of matrices (decoupled with adamw, lion and lamb); biases and norms are "
                  "not decayed."}};
}

std::vector<std::string> Lamb::slots() const {
  return adam_slots();
}

std::vector<Tensor> Lamb::scalars(TraceContext& context, std::int64_t step, double rate) const {
  const BiasCorrections corrections(betas, step);
  return {context.scalar(rate, DType::kF32, "optimizer.learning_rate"),
          context.scalar(1.0 / corrections.first, DType::kF32, "optimizer.inverse_correction1"),
          context.scalar(corrections.sqrt_second, DType::kF32, "optimizer.sqrt_correction2")};
}

std::vector<Tensor> Lamb::update(const Parameter& parameter, const Tensor& gradient,
                                 std::span<const Tensor> slots,
                                 std::span<const Tensor> scalars) const {
  const CallerScope line(gradient.context());
  const AdamMoments moments = next_moments(gradient, slots, betas);
  const Tensor& p = parameter.value;
  Tensor u = moments.first / moments.denominator(scalars[2], eps) * scalars[1];
  Tensor rate = scalars[0];
  if (parameter.kind == ParameterKind::kMatrix) {
    if (weight_decay != 0) u = u + p * weight_decay;
    rate = rate * trust_ratio(p, u);
  }
  return {p - rate * u, moments.first, moments.second};
}

}  // namespace lockstep
