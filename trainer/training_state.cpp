#include "trainer/training_state.h"

#include "core/base/error.h"

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

/// The saved tensor for a parameter. `what` is "model" or the slot.
const HostTensor& find_saved(const NamedTensors& tensors, const Parameter& parameter,
                             std::string_view what) {
  const auto found = tensors.find(parameter.name);
  if (found == tensors.end())
    raise(ErrorKind::kCheckpoint,
          "the checkpoint has no '{}' in '{}': it was saved by another model or optimizer; check "
          "the model and optimizer sections of the config",
          parameter.name, what);
  const HostTensor& value = found->second;
  if (value.dtype() != DType::kF32 || !(value.shape() == parameter.shape))
    raise(ErrorKind::kCheckpoint,
          "the checkpoint's '{}' in '{}' is {}{}, but the model wants f32{}; check the model "
          "section of the config",
          parameter.name, what, name_of(value.dtype()), value.shape().to_string(),
          parameter.shape.to_string());
  return value;
}

void check_no_strangers(const CheckpointState& saved, const ParameterSet& parameters) {
  for (const auto& [name, value] : saved.model) {
    bool known = false;
    for (const Parameter& parameter : parameters.all()) known |= parameter.name == name;
    if (!known)
      raise(
          ErrorKind::kCheckpoint,
          "the checkpoint's tensor '{}' has no place in the model; check the model section of the "
          "config",
          name);
  }
}

}  // namespace

TrainingState make_training_state(const Config& config, std::int64_t vocab_size) {
  TrainingState out;
  out.model = make_model(config.model, vocab_size, config.training.precision);
  out.optimizer = make_optimizer(config.optimizer);
  return out;
}

std::vector<StateTensor> state_tensors(const TrainingState& state) {
  const DType compute_dtype = state.model->compute_dtype();
  std::vector<StateTensor> out;
  for (const Parameter& parameter : state.model->parameters().all()) {
    out.push_back({{DType::kF32, parameter.shape}, parameter.name});
    if (parameter.in_dots && compute_dtype != DType::kF32)
      out.push_back({{compute_dtype, parameter.shape}, parameter.name});
    for (const std::string& slot : state.optimizer->slots())
      out.push_back({{DType::kF32, parameter.shape}, slot_label(slot, parameter)});
  }
  return out;
}

std::int64_t state_bytes(const TrainingState& state) {
  std::int64_t bytes = 0;
  for (const StateTensor& tensor : state_tensors(state))
    bytes += static_cast<std::int64_t>(Allocator::block_bytes(tensor.type.bytes()));
  return bytes;
}

void draw_parameters(TrainingState& state, Engine& engine, std::uint64_t seed) {
  for (Parameter& parameter : state.model->parameters().all())
    parameter.value =
        put(engine, initial_value(parameter, seed), InputKind::kParameter, parameter.name);
}

void zero_slots(TrainingState& state, Engine& engine) {
  for (const std::string& slot : state.optimizer->slots())
    for (const Parameter& parameter : state.model->parameters().all())
      state.slots[slot].push_back(zeros(engine, parameter.shape, slot_label(slot, parameter)));
}

void restore(TrainingState& state, Engine& engine, const CheckpointState& saved,
             bool with_optimizer) {
  ParameterSet& parameters = state.model->parameters();
  check_no_strangers(saved, parameters);
  for (Parameter& parameter : parameters.all())
    parameter.value = put(engine, find_saved(saved.model, parameter, "model"),
                          InputKind::kParameter, parameter.name);
  state.progress = saved.trainer;
  if (!with_optimizer) return;
  for (const std::string& slot : state.optimizer->slots()) {
    const auto found = saved.optimizer.find(slot);
    if (found == saved.optimizer.end())
      raise(ErrorKind::kCheckpoint,
            "the checkpoint has no optimizer state '{}': it was saved by another optimizer; check "
            "optimizer.name and its keys",
            slot);
    for (const Parameter& parameter : parameters.all())
      state.slots[slot].push_back(put(engine, find_saved(found->second, parameter, slot),
                                      InputKind::kState, slot_label(slot, parameter)));
  }
}

void broadcast_values(TrainingState& state, Engine& engine, Communicator& communicator) {
  if (communicator.size() == 1) return;
  const auto broadcast = [&](Tensor& tensor, InputKind kind, std::string_view name) {
    HostTensor host = tensor.to_host();
    CollectiveRequest request;
    request.kind = CollectiveKind::kBroadcast;
    request.data = host.bytes().data();
    request.dtype = host.dtype();
    request.count = host.shape().elements();
    communicator.wait(communicator.submit(request));
    if (!communicator.is_master_ordinal()) tensor = put(engine, std::move(host), kind, name);
  };
  auto& parameters = state.model->parameters().all();
  for (Parameter& parameter : parameters)
    broadcast(parameter.value, InputKind::kParameter, parameter.name);
  for (auto& [slot, tensors] : state.slots)
    for (std::size_t i = 0; i < tensors.size(); ++i)
      broadcast(tensors[i], InputKind::kState, slot_label(slot, parameters[i]));
}

void make_copies(TrainingState& state, Engine& engine) {
  const DType dtype = state.model->compute_dtype();
  if (dtype == DType::kF32) return;
  for (Parameter& parameter : state.model->parameters().all())
    if (parameter.in_dots) parameter.copy = convert(parameter.value, dtype);
  engine.mark_step();
}

CheckpointState snapshot(const TrainingState& state, const std::string& config_yaml) {
  CheckpointState out;
  const auto& parameters = state.model->parameters().all();
  for (const Parameter& parameter : parameters)
    out.model[parameter.name] = parameter.value.to_host();
  for (const auto& [slot, tensors] : state.slots)
    for (std::size_t i = 0; i < tensors.size(); ++i)
      out.optimizer[slot][parameters[i].name] = tensors[i].to_host();
  out.trainer = state.progress;
  out.config_yaml = config_yaml;
  return out;
}

}  // namespace lockstep
