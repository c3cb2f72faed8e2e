// Stochastic gradient descent with heavy-ball momentum, as PyTorch's: b = momentum b + g,
// p = p - lr b; weight decay is added to g, on matrices only.
#pragma once

#include "trainer/optimizers/optimizer.h"

namespace lockstep {

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const OptimizerConfig& config) : config_(config) {}
  std::vector<std::string> slots() const override;
  std::vector<Tensor> scalars(TraceContext& context, std::int64_t step,
                              double learning_rate) const override;
  std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                             std::span<const Tensor> slots,
                             std::span<const Tensor> scalars) const override;

 private:
  OptimizerConfig config_;
};

}  // namespace lockstep
