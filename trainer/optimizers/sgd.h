// Stochastic gradient descent with heavy-ball momentum, as PyTorch's: b = momentum b + g,
// p = p - lr b; weight decay is added to g, on matrices only.
#pragma once

#include <string_view>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/key.h"

namespace LOCKSTEP_API lockstep {

struct Sgd {
  static constexpr std::string_view kName = "sgd";
  static constexpr std::string_view kDoc = "gradient descent with momentum";

  double learning_rate = 1e-3;  ///< peak
  double momentum = 0.0;        ///< 0: plain SGD, without a slot
  double weight_decay = 0.01;

  static std::vector<Key> keys();
  std::vector<std::string> slots() const;
  std::vector<Tensor> scalars(TraceContext& context, std::int64_t step, double rate) const;
  std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                             std::span<const Tensor> slots, std::span<const Tensor> scalars) const;
};

}  // namespace lockstep
