// Everything that training changes: the model's parameters, the optimizer's slots, and the counters
// that go with them. Saved and restored whole, for any number of ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "trainer/data_source.h"
#include "trainer/models/model.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/shared_checkpoint.h"

namespace lockstep {

struct TrainingState {
  std::unique_ptr<Model> model;
  Optimizer optimizer;
  OptimizerState slots = {};
  /// The largest |parameter| when they were drawn or restored.
  double initial_magnitude = 0;
  /// bool[]: while it is true steps update the values; see optimizer_step(). Not saved.
  Tensor sound = {};
  TrainerState progress = {};
};

/// Model and optimizer of the config, with parameters declared but no values.
TrainingState make_training_state(const Config& config, std::int64_t vocab_size);

/// A tensor that lives as long as the run: a parameter, its copy for dots, an optimizer slot, or
/// `sound`.
struct StateTensor {
  Type type;
  std::string name;
};
std::vector<StateTensor> state_tensors(const TrainingState& state);

/// The largest absolute value of an f32 tensor; not finite if one is not.
double largest_magnitude(const HostTensor& tensor);

/// The device memory that they take.
std::int64_t state_bytes(const TrainingState& state);

/// Fresh parameters, functions of (seed, name): the same on all ranks without talking.
void draw_parameters(TrainingState& state, Engine& engine, std::uint64_t seed);

/// Lets steps update the values.
void make_sound(TrainingState& state, Engine& engine);

/// Fresh optimizer slots.
void zero_slots(TrainingState& state, Engine& engine);

/// Values of a checkpoint, the same on all ranks, which all call this. One tensor at a time is in
/// host memory. Error kCheckpoint naming the tensor if names, dtypes or shapes do not fit the
/// model; a slot the optimizer has but the checkpoint lacks is an error too. `with_optimizer` false
/// restores the parameters alone (evaluation, sampling).
void restore(TrainingState& state, Engine& engine, const SharedCheckpoint& saved,
             bool with_optimizer);

/// Rank 0's parameters become everybody's, bit for bit.
void broadcast_parameters(TrainingState& state, Engine& engine, Communicator& communicator);

/// Gives the factors of dots copies in the model's compute dtype, if that is not f32: the optimizer
/// writes them along with the values, and shard programs need not convert.
void make_copies(TrainingState& state, Engine& engine);

}  // namespace lockstep
