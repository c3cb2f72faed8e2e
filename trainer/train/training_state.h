// Everything that training changes: the model's parameters and buffers, the optimizer's slots, and
// the counters that go with them. Saved and restored whole, for any number of ranks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/nn/module.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/run/shared_checkpoint.h"

namespace lockstep {

struct TrainingState {
  /// The module must outlive the state. Its parameters and buffers are declared; whether they are
  /// trained is settled now. Error kUsage for a group without parameters, or whose rule has other
  /// slots than `optimizer`.
  TrainingState(Module& module, Optimizer optimizer, DType compute_dtype,
                OptimizerGroups groups = {});

  Module& module;
  Optimizer optimizer;
  OptimizerGroups groups;
  DType compute_dtype;              ///< of dots; f32 or a 16-bit float
  std::vector<Parameter*> trained;  ///< in the order of declaration
  OptimizerState slots;             ///< of the trained parameters
  /// The largest |parameter| when they were drawn or restored.
  double initial_magnitude = 0;
  /// bool[]: while it is true steps update the values; see optimizer_step(). Not saved.
  Tensor sound;
  TrainerState progress;
};

/// A tensor that lives as long as the run.
struct StateTensor {
  enum class Role : std::uint8_t { kParameter, kBuffer, kSlot, kSound, kCopy };
  Role role;
  Type type;
  std::string name;  ///< of the parameter or buffer, which `slot` is of
  std::string slot;
  Tensor* value;

  std::string label() const { return slot.empty() ? name : slot + "." + name; }
  InputKind kind() const {
    return role == Role::kParameter ? InputKind::kParameter : InputKind::kState;
  }
};

/// The one list of them: saving, restoring, dry runs and memory verdicts go through it. Those that
/// belong to checkpoints come first: parameters, buffers, slots; then `sound`; then the copies in
/// the compute dtype of parameters that are factors of dots.
std::vector<StateTensor> state_tensors(TrainingState& state);

/// Whether a tensor is a part of checkpoints.
inline bool is_saved(const StateTensor& tensor) {
  return tensor.role != StateTensor::Role::kSound && tensor.role != StateTensor::Role::kCopy;
}

/// The largest absolute value of an f32 tensor; not finite if one is not.
double largest_magnitude(const HostTensor& tensor);

/// The device memory that they take.
std::int64_t state_bytes(TrainingState& state);

/// Values of parameters that are not to be drawn, f32, and of buffers that do not begin as they are
/// declared, of their dtype; nothing for others.
using GivenValues = std::function<std::optional<HostTensor>(const std::string& name)>;

/// Fresh parameters, functions of (seed, name): the same on all ranks without talking. Buffers get
/// their initial values, where none are given. Returns the largest |parameter|.
double draw_values(Module& module, Engine& engine, std::uint64_t seed,
                   const GivenValues& given = {});

/// The same for a state that begins to be trained: rank 0's values become everybody's, bit for bit,
/// and slots are zero.
void begin_state(TrainingState& state, Engine& engine, Communicator& communicator,
                 std::uint64_t seed, const GivenValues& given = {});

/// Into the tensors of `out`, which are those of checkpoints, the same values again as rank 0 drew
/// them, or as restore() read them. May run beside steps.
void draw_again(TrainingState& state, std::uint64_t seed, const GivenValues& given,
                CheckpointState& out);
void read_again(const CheckpointReader& saved, CheckpointState& out);

/// Values of a checkpoint, the same on all ranks, which all call this. One tensor at a time is in
/// host memory. Error kCheckpoint naming the tensor if names, dtypes or shapes do not fit the
/// model; a slot the optimizer has but the checkpoint lacks is an error too. `with_optimizer` false
/// restores the model alone (evaluation, sampling).
void restore(TrainingState& state, Engine& engine, const SharedCheckpoint& saved,
             bool with_optimizer);

/// Lets steps update the values.
void make_sound(TrainingState& state, Engine& engine);

/// Gives the factors of dots copies in the compute dtype, if that is not f32: the optimizer writes
/// them along with the values, and shard programs need not convert.
void make_copies(TrainingState& state, Engine& engine);

}  // namespace lockstep
