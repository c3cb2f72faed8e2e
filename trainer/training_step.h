// The training step, recorded: forward and backward of one logical shard, and the update.
#pragma once

#include <cstdint>

#include "trainer/optimizers/optimizer_step.h"
#include "trainer/training_state.h"

namespace lockstep {

/// Inputs that every step of a run shares.
struct StepInputs {
  Tensor shard;  ///< i64[], one value per logical shard: its number in the global batch
  std::uint64_t seed = 0;
};

/// The numbers of this rank's shards, on the device.
StepInputs make_step_inputs(Engine& engine, std::int64_t first_shard, std::int64_t shards,
                            std::uint64_t seed);

/// Records one step and assigns the new values. Nothing runs until mark_step.
StepResult record_step(TrainingState& state, const TensorMap& batch, const StepInputs& inputs,
                       const UpdateOptions& update);

}  // namespace lockstep
