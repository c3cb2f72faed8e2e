// AdamW: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019; arithmetic in
// the order of PyTorch's. Decay applies to matrices only.
#pragma once

#include "trainer/optimizers/optimizer.h"

namespace lockstep {

class AdamW final : public Optimizer {
 public:
  explicit AdamW(const OptimizerConfig& config) : config_(config) {}
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
