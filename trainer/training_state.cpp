#include "trainer/training_state.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>

#include "core/base/error.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {
namespace {

Tensor put(Engine& engine, HostTensor value, InputKind kind, std::string_view name) {
  return engine.to_device({std::move(value)}, kind, name);
}

std::string slot_label(const std::string& slot, const Parameter& parameter) {
  return slot + "." + parameter.name;
}

Tensor zeros(Engine& engine, const Shape& shape, const std::string& name) {
  return engine.adopt(engine.device().make_zeros({DType::kF32, shape}, name), InputKind::kState,
                      name);
}

/// The saved tensor for a parameter. `what` is "model" or the slot, and `path` where it stands.
const TensorEntry& find_saved(const SharedCheckpoint& saved, const std::string& path,
                              const Parameter& parameter, std::string_view what) {
  const TensorEntry* found = saved.find(path);
  if (found == nullptr)
    raise(
        ErrorKind::kCheckpoint,
        "{}: the checkpoint has no '{}' in '{}': it was saved by another model or optimizer; check "
        "the model and optimizer sections of the config",
        saved.path(), parameter.name, what);
  if (found->dtype != DType::kF32 || !(found->shape == parameter.shape))
    raise(ErrorKind::kCheckpoint,
          "{}: the checkpoint's '{}' in '{}' is {}{}, but the model wants f32{}; check the model "
          "section of the config",
          saved.path(), parameter.name, what, name_of(found->dtype), found->shape.to_string(),
          parameter.shape.to_string());
  return *found;
}

void check_no_strangers(const SharedCheckpoint& saved, const ParameterSet& parameters) {
  std::set<std::string> known;
  for (const Parameter& parameter : parameters.all()) known.insert(model_path(parameter.name));
  const std::string prefix = model_path("");
  for (const TensorEntry& entry : saved.tensors())
    if (entry.path.starts_with(prefix) && !known.contains(entry.path))
      raise(ErrorKind::kCheckpoint,
            "{}: the checkpoint's tensor '{}' has no place in the model; check the model section "
            "of the "
            "config",
            saved.path(), entry.path.substr(prefix.size()));
}

/// Returns when the host's copy is no longer needed.
Tensor put_and_wait(Engine& engine, HostTensor value, InputKind kind, const std::string& name) {
  const DeviceTensorPtr tensor = engine.device().copy_to_device({std::move(value)}, name);
  tensor->ready->wait();
  return engine.adopt(tensor, kind, name);
}

Optimizer make_optimizer(const OptimizerConfig& config) {
  switch (config.name) {
    case OptimizerName::kAdamW:
      return AdamW{.learning_rate = config.learning_rate,
                   .betas = config.betas,
                   .eps = config.eps,
                   .weight_decay = config.weight_decay};
    case OptimizerName::kSgd:
      return Sgd{.learning_rate = config.learning_rate,
                 .momentum = config.momentum,
                 .weight_decay = config.weight_decay};
  }
  __builtin_unreachable();
}

}  // namespace

TrainingState make_training_state(const Config& config, std::int64_t vocab_size) {
  return {.model = make_model(config.model, vocab_size, config.training.precision),
          .optimizer = make_optimizer(config.optimizer)};
}

std::vector<StateTensor> state_tensors(const TrainingState& state) {
  const DType compute_dtype = state.model->compute_dtype();
  std::vector<StateTensor> out;
  for (const Parameter& parameter : state.model->parameters().all()) {
    out.push_back({{DType::kF32, parameter.shape}, parameter.name});
    if (parameter.in_dots && compute_dtype != DType::kF32)
      out.push_back({{compute_dtype, parameter.shape}, parameter.name});
    for (const std::string& slot : state.optimizer.slots())
      out.push_back({{DType::kF32, parameter.shape}, slot_label(slot, parameter)});
  }
  out.push_back({{DType::kBool, Shape{}}, "sound"});
  return out;
}

// By the bits without the sign, which order as the numbers do: a loop that is vectorized.
double largest_magnitude(const HostTensor& tensor) {
  std::uint32_t largest = 0;
  for (const float value : tensor.as<const float>())
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffU);
  return std::bit_cast<float>(largest);
}

std::int64_t state_bytes(const TrainingState& state) {
  std::int64_t bytes = 0;
  for (const StateTensor& tensor : state_tensors(state))
    bytes += static_cast<std::int64_t>(Allocator::block_bytes(tensor.type.bytes()));
  return bytes;
}

void draw_parameters(TrainingState& state, Engine& engine, std::uint64_t seed) {
  for (Parameter& parameter : state.model->parameters().all()) {
    HostTensor value = initial_value(parameter, seed);
    state.initial_magnitude = std::max(state.initial_magnitude, largest_magnitude(value));
    parameter.value = put(engine, std::move(value), InputKind::kParameter, parameter.name);
  }
}

void zero_slots(TrainingState& state, Engine& engine) {
  for (const std::string& slot : state.optimizer.slots())
    for (const Parameter& parameter : state.model->parameters().all())
      state.slots[slot].push_back(zeros(engine, parameter.shape, slot_label(slot, parameter)));
}

void make_sound(TrainingState& state, Engine& engine) {
  state.sound = put(engine, HostTensor::scalar<bool>(true), InputKind::kState, "sound");
}

void restore(TrainingState& state, Engine& engine, const SharedCheckpoint& saved,
             bool with_optimizer) {
  ParameterSet& parameters = state.model->parameters();
  check_no_strangers(saved, parameters);
  for (Parameter& parameter : parameters.all()) {
    const TensorEntry& entry = find_saved(saved, model_path(parameter.name), parameter, "model");
    HostTensor value = saved.read(entry);
    state.initial_magnitude = std::max(state.initial_magnitude, largest_magnitude(value));
    parameter.value = put_and_wait(engine, std::move(value), InputKind::kParameter, parameter.name);
  }
  state.progress = saved.trainer();
  if (!with_optimizer) return;
  for (const std::string& slot : state.optimizer.slots()) {
    const std::string prefix = optimizer_path(slot, "");
    if (std::ranges::none_of(saved.tensors(), [&](const TensorEntry& entry) {
          return entry.path.starts_with(prefix);
        }))
      raise(ErrorKind::kCheckpoint,
            "{}: the checkpoint has no optimizer state '{}': it was saved by another optimizer; "
            "check "
            "optimizer.name and its keys",
            saved.path(), slot);
    for (const Parameter& parameter : parameters.all()) {
      const TensorEntry& entry =
          find_saved(saved, optimizer_path(slot, parameter.name), parameter, slot);
      state.slots[slot].push_back(
          put_and_wait(engine, saved.read(entry), InputKind::kState, slot_label(slot, parameter)));
    }
  }
}

void broadcast_parameters(TrainingState& state, Engine& engine, Communicator& communicator) {
  if (communicator.size() == 1) return;
  for (Parameter& parameter : state.model->parameters().all()) {
    HostTensor host = parameter.value.to_host();
    CollectiveRequest request;
    request.kind = CollectiveKind::kBroadcast;
    request.data = host.bytes().data();
    request.dtype = host.dtype();
    request.count = host.shape().elements();
    communicator.wait(communicator.submit(request));
    if (!communicator.is_master_ordinal())
      parameter.value = put(engine, std::move(host), InputKind::kParameter, parameter.name);
  }
}

void make_copies(TrainingState& state, Engine& engine) {
  const DType dtype = state.model->compute_dtype();
  if (dtype == DType::kF32) return;
  for (Parameter& parameter : state.model->parameters().all())
    if (parameter.in_dots) parameter.copy = convert(parameter.value, dtype);
  engine.mark_step();
}

}  // namespace lockstep
