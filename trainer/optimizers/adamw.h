// AdamW: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019; arithmetic in
// the order of PyTorch's. Decay applies to matrices only.
#pragma once

#include <array>
#include <string_view>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/key.h"

namespace LOCKSTEP_API lockstep {

/// The settings and the update rule of AdamW.
struct AdamW {
  static constexpr std::string_view kName = "adamw";                            ///< in configs
  static constexpr std::string_view kDoc = "Adam with decoupled weight decay";  ///< in help

  double learning_rate = 1e-3;  ///< peak
  /// Decay of the running mean of the gradient, and of its square.
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;           ///< added to the denominator
  double weight_decay = 0.01;  ///< part of a matrix that is subtracted in a step, times the rate

  static std::vector<Key> keys();  ///< of the section `optimizer`
  /// What UpdateRule asks for; Optimizer's functions of these names say what they do.
  /// @{
  std::vector<std::string> slots() const;
  std::vector<Tensor> scalars(TraceContext& context, std::int64_t step, double rate) const;
  std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                             std::span<const Tensor> slots, std::span<const Tensor> scalars) const;
  /// @}
};

}  // namespace lockstep
