#include "trainer/optimizers/adamw.h"

#include <cmath>

#include "core/trace/origin_scope.h"

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
           .doc = "Decay of matrices (decoupled with adamw); biases and norms are not decayed."}};
}

std::vector<std::string> AdamW::slots() const {
  return {"exp_avg", "exp_avg_sq"};
}

std::vector<Tensor> AdamW::scalars(TraceContext& context, std::int64_t step, double rate) const {
  const auto t = static_cast<double>(step + 1);
  const double correction1 = 1.0 - std::pow(betas[0], t);
  const double correction2 = 1.0 - std::pow(betas[1], t);
  return {
      context.scalar(1.0 - rate * weight_decay, DType::kF32, "optimizer.decay"),
      context.scalar(rate / correction1, DType::kF32, "optimizer.step_size"),
      context.scalar(std::sqrt(correction2), DType::kF32, "optimizer.sqrt_correction2"),
  };
}

std::vector<Tensor> AdamW::update(const Parameter& parameter, const Tensor& gradient,
                                  std::span<const Tensor> slots,
                                  std::span<const Tensor> scalars) const {
  const CallerScope line(gradient.context());
  const double beta1 = betas[0];
  const double beta2 = betas[1];
  const Tensor m = slots[0] * beta1 + gradient * (1.0 - beta1);
  const Tensor v = slots[1] * beta2 + gradient * gradient * (1.0 - beta2);
  const Tensor denominator = sqrt(v) / scalars[2] + eps;
  const bool decay = parameter.kind == ParameterKind::kMatrix && weight_decay != 0;
  const Tensor base = decay ? parameter.value * scalars[0] : parameter.value;
  return {base - scalars[1] * (m / denominator), m, v};
}

}  // namespace lockstep
