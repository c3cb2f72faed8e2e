// Everything that training changes: the model's parameters, the optimizer's slots, and the counters
// that go with them. Saved and restored whole, for any number of ranks.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/state.h"
#include "core/engine/engine.h"
#include "trainer/data_source.h"
#include "trainer/models/model.h"
#include "trainer/optimizers/optimizer.h"

namespace lockstep {

struct TrainingState {
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  OptimizerState slots;
  TrainerState progress;
};

/// Model and optimizer of the config, with parameters declared but no values.
TrainingState make_training_state(const Config& config, std::int64_t vocab_size);

/// Fresh values: parameters from (seed, name), slots zero. The same on all ranks without talking.
void initialize(TrainingState& state, Engine& engine, std::uint64_t seed);

/// Values of a checkpoint. Error kCheckpoint naming the tensor if names, dtypes or shapes do not
/// fit the model; a slot the optimizer has but the checkpoint lacks is an error too.
/// `with_optimizer` false restores the parameters alone (evaluation, sampling).
void restore(TrainingState& state, Engine& engine, const CheckpointState& saved,
             bool with_optimizer);

/// Rank 0's values become everybody's, bit for bit.
void broadcast_values(TrainingState& state, Engine& engine, Communicator& communicator);

/// Copies everything to the host; waits for the device. `config_yaml` and progress go along.
CheckpointState snapshot(const TrainingState& state, const std::string& config_yaml);

}  // namespace lockstep
