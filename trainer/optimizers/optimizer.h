// Optimizers: per-parameter update rules over the ops. They see the mean gradient of the global
// batch, already clipped.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/nn/parameter.h"
#include "core/trace/ops.h"
#include "trainer/config/config.h"

namespace lockstep {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Names of the per-parameter state, zero at the start: "exp_avg", ... (PyTorch's names).
  virtual std::vector<std::string> slots() const = 0;

  /// The numbers of 0-based `step`, as inputs of the graph: they change without recompiling.
  virtual std::vector<Tensor> scalars(TraceContext& context, std::int64_t step,
                                      double learning_rate) const = 0;

  /// New value of the parameter, and after it those of the slots in order.
  virtual std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                                     std::span<const Tensor> slots,
                                     std::span<const Tensor> scalars) const = 0;
};

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

/// The optimizer's state: one tensor per slot and parameter, in the parameters' order.
using OptimizerState = std::map<std::string, std::vector<Tensor>>;

}  // namespace lockstep
