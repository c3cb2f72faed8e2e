#include "trainer/optimizers/sgd.h"

#include "core/trace/origin_scope.h"

namespace lockstep {

std::vector<Key> Sgd::keys() {
  return {{.name = "learning_rate",
           .member = bind<&Sgd::learning_rate>(),
           .range = at_least(0),
           .doc = "Peak learning rate.",
           .required = true},
          {.name = "weight_decay",
           .member = bind<&Sgd::weight_decay>(),
           .range = at_least(0),
           .doc = "Decay of matrices (decoupled with adamw); biases and norms are not decayed."},
          {.name = "momentum",
           .member = bind<&Sgd::momentum>(),
           .range = fraction(),
           .doc = "Decay of the running sum of gradients; 0 is plain SGD."}};
}

std::vector<std::string> Sgd::slots() const {
  if (momentum == 0) return {};
  return {"momentum_buffer"};
}

std::vector<Tensor> Sgd::scalars(TraceContext& context, std::int64_t /*step*/, double rate) const {
  return {context.scalar(rate, DType::kF32, "optimizer.learning_rate")};
}

std::vector<Tensor> Sgd::update(const Parameter& parameter, const Tensor& gradient,
                                std::span<const Tensor> slots,
                                std::span<const Tensor> scalars) const {
  const CallerScope line(gradient.context());
  const bool decay = parameter.kind == ParameterKind::kMatrix && weight_decay != 0;
  const Tensor g = decay ? gradient + parameter.value * weight_decay : gradient;
  if (slots.empty()) return {parameter.value - scalars[0] * g};
  const Tensor buffer = slots[0] * momentum + g;
  return {parameter.value - scalars[0] * buffer, buffer};
}

}  // namespace lockstep
