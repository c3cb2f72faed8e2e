// LAMB: You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", ICLR
// 2020, algorithm 2 with phi(x) = x. For each matrix
//   u = m' / (sqrt(v') + eps) + weight_decay p,  p = p - lr |p| / |u| u
// with Adam's corrected moments m' and v'; the ratio is 1 if |p| or |u| is 0. As in the authors'
// code (exclude_from_weight_decay, which exclude_from_layer_adaptation follows), biases and norms
// have neither decay nor the ratio. Norms are summed in the order of sum_of_squares().
#pragma once

#include <array>
#include <string_view>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/key.h"

namespace LOCKSTEP_API lockstep {

/// The settings and the update rule of LAMB.
struct Lamb {
  static constexpr std::string_view kName = "lamb";  ///< in configs
  /// In help.
  static constexpr std::string_view kDoc =
      "Adam with decoupled weight decay, scaled to the norm of each matrix";

  double learning_rate = 1e-3;  ///< peak
  /// Decay of the running mean of the gradient, and of its square.
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-6;           ///< added to the denominator
  double weight_decay = 0.01;  ///< times the parameter, added to the direction

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
