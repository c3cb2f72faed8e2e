#include "trainer/optimizers/adamw.h"

#include "core/trace/origin_scope.h"
#include "trainer/optimizers/adam_moments.h"

namespace lockstep {

std::vector<Key> AdamW::keys() {
  return {{.name = "learning_rate",
           .member = bind<&AdamW::learning_rate>(),
           .range = at_least(0),
           .doc = "Peak learning rate.",
           .required = true},
          {.name = "betas",
           .member = bind<&AdamW::betas>(),
           .range = fraction(),
           .doc = "Decay of the running mean of the gradient and of its square."},
          {.name = "eps",
           .member = bind<&AdamW::eps>(),
           .range = above(0),
           .doc = "Added to the denominator."},
          {.name = "weight_decay",
           .member = bind<&AdamW::weight_decay>(),
           .range = at_least(0),
           .doc = "Decay of matrices (decoupled with adamw, lion and lamb); biases and norms are "
                  "not decayed."}};
}

std::vector<std::string> AdamW::slots() const {
  return adam_slots();
}

std::vector<Tensor> AdamW::scalars(TraceContext& context, std::int64_t step, double rate) const {
  const BiasCorrections corrections(betas, step);
  return {
      context.scalar(1.0 - rate * weight_decay, DType::kF32, "optimizer.decay"),
      context.scalar(rate / corrections.first, DType::kF32, "optimizer.step_size"),
      context.scalar(corrections.sqrt_second, DType::kF32, "optimizer.sqrt_correction2"),
  };
}

std::vector<Tensor> AdamW::update(const Parameter& parameter, const Tensor& gradient,
                                  std::span<const Tensor> slots,
                                  std::span<const Tensor> scalars) const {
  const CallerScope line(gradient.context());
  const AdamMoments moments = next_moments(gradient, slots, betas);
  const Tensor denominator = moments.denominator(scalars[2], eps);
  const bool decay = parameter.kind == ParameterKind::kMatrix && weight_decay != 0;
  const Tensor base = decay ? parameter.value * scalars[0] : parameter.value;
  return {base - scalars[1] * (moments.first / denominator), moments.first, moments.second};
}

}  // namespace lockstep
