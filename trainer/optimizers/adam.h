// Adam: Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, as PyTorch's
// torch.optim.Adam: weight decay is added to the gradient (L2 regularization), on matrices only.
#pragma once

#include <array>
#include <string_view>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/key.h"

namespace LOCKSTEP_API lockstep {

/// The settings and the update rule of Adam.
struct Adam {
  static constexpr std::string_view kName = "adam";  ///< in configs
  /// In help.
  static constexpr std::string_view kDoc = "Adam, with weight decay as a part of the gradient";

  double learning_rate = 1e-3;  ///< peak
  /// Decay of the running mean of the gradient, and of its square.
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;          ///< added to the denominator
  double weight_decay = 0.0;  ///< times the parameter, added to its gradient

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
