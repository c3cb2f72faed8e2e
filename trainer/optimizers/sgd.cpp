#include "trainer/optimizers/sgd.h"

#include "core/base/error.h"
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
           .doc = "Decay of matrices (decoupled with adamw, lion and lamb); biases and norms are "
                  "not decayed."},
          {.name = "momentum",
           .member = bind<&Sgd::momentum>(),
           .range = fraction(),
           .doc = "Decay of the running sum of gradients; 0 is plain SGD."},
          {.name = "nesterov",
           .member = bind<&Sgd::nesterov>(),
           .doc = "Step by the gradient plus the decayed sum that has it, as if looking ahead."}};
}

void Sgd::check(const Config& /*run*/, const ReportProblem& report) const {
  if (nesterov && momentum == 0)
    report({"optimizer.nesterov", "optimizer.momentum"},
           "'optimizer.nesterov' needs an 'optimizer.momentum' above 0");
}

std::vector<std::string> Sgd::slots() const {
  LS_USER_CHECK(!nesterov || momentum > 0, "Sgd: nesterov needs a momentum above 0");
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
  const Tensor step = nesterov ? g + buffer * momentum : buffer;
  return {parameter.value - scalars[0] * step, buffer};
}

}  // namespace lockstep
