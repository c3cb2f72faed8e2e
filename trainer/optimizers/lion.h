// Lion: Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023, algorithm 2:
//   c = beta1 m + (1 - beta1) g
//   p = p - lr (sign(c) + weight_decay p)
//   m = beta2 m + (1 - beta2) g
// Decay applies to matrices only. The rate is usually 3 to 10 times below that of AdamW, and the
// decay as many times above.
#pragma once

#include <array>
#include <string_view>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/key.h"

namespace LOCKSTEP_API lockstep {

/// The settings and the update rule of Lion.
struct Lion {
  static constexpr std::string_view kName = "lion";  ///< in configs
  /// In help.
  static constexpr std::string_view kDoc = "steps of one size by the sign of a running mean";

  double learning_rate = 1e-4;                ///< peak
  std::array<double, 2> betas = {0.9, 0.99};  ///< beta1 and beta2
  double weight_decay = 0.0;                  ///< times the parameter, added to the direction

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
