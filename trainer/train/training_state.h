// Everything that training changes: the model's parameters and buffers, the optimizer's slots, the
// averages of weights, and the counters that go with them. Saved and restored whole, for any number
// of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/nn/module.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/run/shared_checkpoint.h"

namespace lockstep {

/// The slot that holds the averages of weights (training.ema), beside those of the optimizer.
inline constexpr const char* kAverageSlot = "ema";

struct TrainingState {
  /// The module must outlive the state. Its parameters and buffers are declared; whether they are
  /// trained is decided now. `ema`: the decay of averages, 0 for none. Error kUsage for a group
  /// without parameters, or whose rule has other slots than `optimizer`.
  TrainingState(Module& module, Optimizer optimizer, DType compute_dtype,
                OptimizerGroups groups = {}, double ema = 0);

  /// One for each trained parameter; empty without them.
  std::span<Tensor> averages();

  Module& module;
  Optimizer optimizer;
  OptimizerGroups groups;
  double ema;
  DType compute_dtype;              ///< of dots; f32 or a 16-bit float
  std::vector<Parameter*> trained;  ///< in the order of declaration
  OptimizerState slots;             ///< of the trained parameters, with kAverageSlot
  /// The largest |parameter| when the parameters were drawn or restored.
  double initial_magnitude = 0;
  /// bool[]: steps update the values only while it is true; see optimizer_step(). Not saved.
  Tensor state_finite;
  TrainerState progress;
};

/// A tensor that lives as long as the run.
struct StateTensor {
  enum class Role : std::uint8_t { kParameter, kBuffer, kSlot, kStateFinite, kCopy };
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

/// The only list of these tensors: saving, restoring, dry runs and memory checks use it. Those that
/// belong to checkpoints come first: parameters, buffers, slots; then `state_finite`; then the
/// copies in the compute dtype of parameters that are factors of dots.
std::vector<StateTensor> state_tensors(TrainingState& state);

/// Whether a tensor is a part of checkpoints.
inline bool is_saved(const StateTensor& tensor) {
  return tensor.role != StateTensor::Role::kStateFinite && tensor.role != StateTensor::Role::kCopy;
}

/// The largest absolute value of an f32 tensor; not finite if one is not.
double largest_magnitude(const HostTensor& tensor);

/// The device memory of all state tensors in bytes.
std::int64_t state_bytes(TrainingState& state);

/// Given initial values: f32 for parameters that are not drawn, the buffer's dtype for buffers that
/// do not start with their declared value; nothing for others.
using GivenValues = std::function<std::optional<HostTensor>(const std::string& name)>;

/// Draws new parameters, functions of (seed, name): the same on all ranks without communication.
/// Buffers get their declared initial values unless values are given. Returns the largest
/// |parameter|.
double draw_values(Module& module, Engine& engine, std::uint64_t seed,
                   const GivenValues& given = {});

/// The same for a state that will be trained: all ranks get rank 0's values, bit for bit, slots are
/// zero, and averages are the values.
void begin_state(TrainingState& state, Engine& engine, Communicator& communicator,
                 std::uint64_t seed, const GivenValues& given = {});

/// Write into `out`, the tensors of a checkpoint, the same values again as rank 0 drew them, or as
/// restore() read them. May run concurrently with steps.
void draw_again(TrainingState& state, std::uint64_t seed, const GivenValues& given,
                CheckpointState& out);
void read_again(const CheckpointReader& saved, CheckpointState& out);

/// Error kCheckpoint naming the tensor if names, dtypes or shapes do not fit the model; a slot that
/// the optimizer has and the checkpoint lacks for all parameters is an error too. Reads no values.
void check_saved_fits(TrainingState& state, const SharedCheckpoint& saved);

/// Collective: restores the values of a checkpoint, the same on all ranks. One tensor at a time is
/// in host memory. Errors as of check_saved_fits(). Averages that it lacks begin as the values.
///
/// Returns the names of trained parameters that the checkpoint has no slots of, because the saved
/// run did not train them: their slots begin at zero, as those of a new run.
std::vector<std::string> restore(TrainingState& state, Engine& engine,
                                 const SharedCheckpoint& saved);

/// The weights that a run left of a model.
enum class SavedWeights : std::uint8_t {
  kTrained,
  kAveraged,  ///< the averages of those that were trained, and the others
};

/// The same for the model alone (evaluation, sampling). Error kUsage for averages of a run that
/// kept none.
void restore_model(TrainingState& state, Engine& engine, const SharedCheckpoint& saved,
                   SavedWeights which);

/// Error kUsage if a checkpoint at `path` with these tensors has no averages.
void require_averages(const std::string& path, std::span<const TensorEntry> tensors);

/// Sets `state_finite`, so that steps update the values.
void make_state_finite(TrainingState& state, Engine& engine);

/// Makes copies of the factors of dots in the compute dtype, if that is not f32: the optimizer
/// updates them with the values, and gradient programs need not convert.
void make_copies(TrainingState& state, Engine& engine);

}  // namespace lockstep
