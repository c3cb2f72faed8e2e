// Records the training step: forward and backward of one micro-batch, and the update.
#pragma once

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>

#include "trainer/optimizers/optimizer_step.h"
#include "trainer/task/batch.h"
#include "trainer/train/training_state.h"

namespace lockstep {

/// Inputs that every step of a run shares.
struct StepInputs {
  Tensor micro_batch;  ///< i64[], one value per micro-batch: its index in the global batch
  std::uint64_t seed = 0;
};

/// The indices of this rank's micro-batches, on the device.
StepInputs make_step_inputs(Engine& engine, std::int64_t first_micro_batch,
                            std::int64_t micro_batches, std::uint64_t seed);

/// The caller that requests a loss.
struct LossCaller {
  std::source_location where = std::source_location::current();  ///< the user's line
  std::function<void(const std::string&)> warn = {};             ///< called with possible mistakes
};

/// Records one step and assigns the new values. Nothing runs until mark_step. Rethrows an exception
/// of `loss`; then nothing of the step remains in the trace, and no value has changed.
StepNumbers record_step(TrainingState& state, const LossFunction& loss, const Batch& batch,
                        const StepInputs& inputs, const UpdateOptions& update,
                        const LossCaller& caller = {});

/// Whether to keep Loss::outputs, which are computed only if they are kept.
enum class LossOutputs : std::uint8_t { kKeep, kDrop };

/// Records the loss in evaluation mode: without dropout, with running statistics.
Loss record_evaluation(const LossFunction& loss, const Batch& batch, DType compute_dtype,
                       LossOutputs outputs = LossOutputs::kKeep, const LossCaller& caller = {});

}  // namespace lockstep
