#include "trainer/optimizers/lion.h"

#include "core/trace/origin_scope.h"

namespace lockstep {

std::vector<Key> Lion::keys() {
  return {
      {.name = "learning_rate",
       .member = bind<&Lion::learning_rate>(),
       .range = at_least(0),
       .doc = "Peak learning rate.",
       .required = true},
      {.name = "betas",
       .member = bind<&Lion::betas>(),
       .range = fraction(),
       .doc = "Shares of the running mean of the gradient in the sign that is taken, and in its "
              "next value."},
      {.name = "weight_decay",
       .member = bind<&Lion::weight_decay>(),
       .range = at_least(0),
       .doc = "Decay of matrices (decoupled with adamw, lion and lamb); biases and norms are "
              "not decayed."}};
}

std::vector<std::string> Lion::slots() const {
  return {"exp_avg"};
}

std::vector<Tensor> Lion::scalars(TraceContext& context, std::int64_t /*step*/, double rate) const {
  return {context.scalar(1.0 - rate * weight_decay, DType::kF32, "optimizer.decay"),
          context.scalar(rate, DType::kF32, "optimizer.learning_rate")};
}

std::vector<Tensor> Lion::update(const Parameter& parameter, const Tensor& gradient,
                                 std::span<const Tensor> slots,
                                 std::span<const Tensor> scalars) const {
  const CallerScope line(gradient.context());
  const Tensor direction = sign(slots[0] * betas[0] + gradient * (1.0 - betas[0]));
  const Tensor mean = slots[0] * betas[1] + gradient * (1.0 - betas[1]);
  const bool decay = parameter.kind == ParameterKind::kMatrix && weight_decay != 0;
  const Tensor base = decay ? parameter.value * scalars[0] : parameter.value;
  return {base - scalars[1] * direction, mean};
}

}  // namespace lockstep
