#include "trainer/optimizers/adam.h"

#include "core/trace/origin_scope.h"
#include "trainer/optimizers/adam_moments.h"

namespace lockstep {

std::vector<Key> Adam::keys() {
  return {{.name = "learning_rate",
           .member = bind<&Adam::learning_rate>(),
           .range = at_least(0),
           .doc = "Peak learning rate.",
           .required = true},
          {.name = "betas",
           .member = bind<&Adam::betas>(),
           .range = fraction(),
           .doc = "Decay of the running mean of the gradient and of its square."},
          {.name = "eps",
           .member = bind<&Adam::eps>(),
           .range = above(0),
           .doc = "Added to the denominator."},
          {.name = "weight_decay",
           .member = bind<&Adam::weight_decay>(),
           .range = at_least(0),
           .doc = "Decay of matrices (decoupled with adamw, lion and lamb); biases and norms are "
                  "not decayed."}};
}

std::vector<std::string> Adam::slots() const {
  return adam_slots();
}

std::vector<Tensor> Adam::scalars(TraceContext& context, std::int64_t step, double rate) const {
  const BiasCorrections corrections(betas, step);
  return {context.scalar(rate / corrections.first, DType::kF32, "optimizer.step_size"),
          context.scalar(corrections.sqrt_second, DType::kF32, "optimizer.sqrt_correction2")};
}

std::vector<Tensor> Adam::update(const Parameter& parameter, const Tensor& gradient,
                                 std::span<const Tensor> slots,
                                 std::span<const Tensor> scalars) const {
  const CallerScope line(gradient.context());
  const bool decay = parameter.kind == ParameterKind::kMatrix && weight_decay != 0;
  const Tensor g = decay ? gradient + parameter.value * weight_decay : gradient;
  const AdamMoments moments = next_moments(g, slots, betas);
  const Tensor direction = moments.first / moments.denominator(scalars[1], eps);
  return {parameter.value - scalars[0] * direction, moments.first, moments.second};
}

}  // namespace lockstep
