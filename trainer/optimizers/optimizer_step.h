// The update program of a training step: gradients are all-reduced, divided by the global count,
// clipped by their global norm and applied. What it computes does not depend on ranks or shards.
#pragma once

#include <span>

#include "trainer/models/model.h"
#include "trainer/optimizers/optimizer.h"

namespace lockstep {

/// The numbers of a step, equal on all ranks.
struct StepSummary {
  double loss = 0;       ///< mean over the global batch
  double accuracy = 0;   ///< share of right predictions
  double grad_norm = 0;  ///< of the mean gradient, before clipping
  bool finite = true;    ///< whether loss and norm are; if not, nothing was updated
  bool stop = false;     ///< whether any rank was asked to stop
};

/// The same on the device, as one small tensor: reading a step's numbers is one copy.
struct StepResult {
  Tensor summary;  ///< f32[5]
  StepSummary read() const;
};

struct UpdateOptions {
  double clip_norm = 0;   ///< 0: no clipping
  std::int64_t step = 0;  ///< 0-based
  double learning_rate = 0;
  bool stop_requested = false;  ///< on this rank
};

/// `output` and `gradients` (of output.loss_sum, one per parameter in order) are sums of one
/// logical shard. Assigns the new values to parameters, their copies and state.
StepResult optimizer_step(const Optimizer& optimizer, ParameterSet& parameters,
                          OptimizerState& state, const ModelOutput& output,
                          std::span<const Tensor> gradients, const UpdateOptions& options);

/// The sum of squares of all elements of all tensors, in an order that depends on their shapes
/// only: blocks of 16 Ki elements of each tensor, then one tree over the blocks of all.
Tensor sum_of_squares(std::span<const Tensor> tensors);

}  // namespace lockstep
