// Stochastic gradient descent with momentum, as PyTorch's: b = momentum b + g, and p = p - lr b
// (heavy ball), or with `nesterov` p = p - lr (g + momentum b) (Sutskever et al., ICML 2013);
// weight decay is added to g, on matrices only.
#pragma once

#include <string_view>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"

namespace LOCKSTEP_API lockstep {

struct Config;

/// The settings and the update rule of SGD.
struct Sgd {
  static constexpr std::string_view kName = "sgd";                            ///< in configs
  static constexpr std::string_view kDoc = "gradient descent with momentum";  ///< in help

  double learning_rate = 1e-3;  ///< peak
  double momentum = 0.0;        ///< 0: plain SGD, without a slot
  double weight_decay = 0.01;   ///< times the parameter, added to its gradient
  bool nesterov = false;        ///< needs momentum

  static std::vector<Key> keys();  ///< of the section `optimizer`
  /// Reports `nesterov` without momentum.
  void check(const Config& run, const ReportProblem& report) const;
  /// What UpdateRule asks for; Optimizer's functions of these names say what they do.
  /// @{
  std::vector<std::string> slots() const;
  std::vector<Tensor> scalars(TraceContext& context, std::int64_t step, double rate) const;
  std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                             std::span<const Tensor> slots, std::span<const Tensor> scalars) const;
  /// @}
};

}  // namespace lockstep
