// The update program of a training step: gradients are all-reduced, divided by the global count,
// clipped by their global norm and applied. Its result does not depend on the number of ranks or
// micro-batches.
#pragma once

#include <map>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "core/nn/module_buffer.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/task/loss.h"

namespace lockstep {

/// The numbers of a step, equal on all ranks.
struct StepSummary {
  double loss = 0;                        ///< mean over the global batch
  double grad_norm = 0;                   ///< of the mean gradient, before clipping
  std::map<std::string, double> metrics;  ///< those of the loss whose count is not zero
  bool finite = true;        ///< whether loss and norm are finite; if not, nothing was updated
  bool state_finite = true;  ///< the new value of `state_finite`, see optimizer_step()
  bool stop = false;         ///< whether any rank was asked to stop
  bool save_failed = false;  ///< whether a rank's checkpoint could not be written
  bool warned = false;       ///< whether any rank has warnings for the console
};

/// The same on the device, as one small tensor: reading a step's numbers is one copy.
struct StepNumbers {
  Tensor values;  ///< f32[7 + 2 metrics]
  std::vector<std::string> metrics;
  StepSummary read(std::source_location where = std::source_location::current()) const;
};

struct UpdateOptions {
  double clip_norm = 0;   ///< 0: no clipping
  std::int64_t step = 0;  ///< 0-based
  double learning_rate = 0;
  bool stop_requested = false;     ///< on this rank
  bool save_failed = false;        ///< on this rank
  bool warned = false;             ///< on this rank
  bool stop_at_nonfinite = false;  ///< after a non-finite step later steps do not update
};

/// The state that a step updates. The references outlive it.
struct UpdatedState {
  const Optimizer& optimizer;
  const OptimizerGroups& groups;
  std::span<Parameter* const> parameters;  ///< those that are trained
  ModuleBufferSet& buffers;
  OptimizerState& slots;
  Tensor& state_finite;  ///< bool[]
  /// Of each parameter p the average a, which becomes a + (1 - average_decay) (p - a) with the new
  /// p, in the order of PyTorch's get_ema_multi_avg_fn. Empty: none are kept.
  std::span<Tensor> averages = {};
  double average_decay = 0;
};

/// `loss` and `gradients` (of loss.sum, one per trained parameter in order) are sums of one
/// micro-batch. Assigns the new values to parameters, their copies, averages, slots, buffers and
/// `state_finite`, unless loss or norm are not finite, or `state_finite` is false.
///
/// `state_finite` becomes false, and stays so, when a new parameter is not finite, or with
/// stop_at_nonfinite when loss or norm are not: steps that are already queued then change nothing,
/// and saved values can be distinguished from good ones.
StepNumbers optimizer_step(const UpdatedState& state, const Loss& loss,
                           std::span<const Tensor> gradients, const UpdateOptions& options);

/// The sum of squares of all elements of all tensors, in an order that depends on their shapes
/// only: blocks of 16 Ki elements of each tensor, then one tree over all blocks.
Tensor sum_of_squares(std::span<const Tensor> tensors);

}  // namespace lockstep
