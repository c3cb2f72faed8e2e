#include "trainer/train/training_state.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <set>

#include "core/base/error.h"
#include "core/runtime/device.h"
#include "core/trace/reads.h"

namespace lockstep {
namespace {

Tensor put(Engine& engine, HostTensor value, InputKind kind, std::string_view name) {
  return engine.to_device({std::move(value)}, kind, name);
}

Tensor zeros(Engine& engine, const Shape& shape, const std::string& name) {
  return engine.adopt(engine.device().make_zeros({DType::kF32, shape}, name), InputKind::kState,
                      name);
}

void copy_into(HostTensor& place, const HostTensor& value) {
  LS_CHECK(place.bytes().size() == value.bytes().size(), "{} bytes instead of {}",
           value.bytes().size(), place.bytes().size());
  std::memcpy(place.bytes().data(), value.bytes().data(), value.bytes().size());
}

/// The path of a tensor in a checkpoint.
std::string saved_path(const StateTensor& tensor) {
  return tensor.slot.empty() ? model_path(tensor.name) : optimizer_path(tensor.slot, tensor.name);
}

/// The saved tensor for one of the state.
const TensorEntry& find_saved(const SharedCheckpoint& saved, const StateTensor& tensor) {
  const std::string what = tensor.slot.empty() ? "model" : tensor.slot;
  const TensorEntry* found = saved.find(saved_path(tensor));
  if (found == nullptr)
    raise(
        ErrorKind::kCheckpoint,
        "{}: the checkpoint has no '{}' in '{}': it was saved by another model or optimizer; check "
        "the model and the optimizer",
        saved.path(), tensor.name, what);
  if (found->dtype != tensor.type.dtype || !(found->shape == tensor.type.shape))
    raise(ErrorKind::kCheckpoint,
          "{}: the checkpoint's '{}' in '{}' is {}{}, but the model needs {}; check the "
          "model's sizes",
          saved.path(), tensor.name, what, name_of(found->dtype), found->shape.to_string(),
          tensor.type.to_string());
  return *found;
}

void check_no_strangers(const SharedCheckpoint& saved, const std::vector<StateTensor>& tensors) {
  std::set<std::string> known;
  for (const StateTensor& tensor : tensors)
    if (tensor.slot.empty()) known.insert(model_path(tensor.name));
  const std::string prefix = model_path("");
  for (const TensorEntry& entry : saved.tensors())
    if (entry.path.starts_with(prefix) && !known.contains(entry.path))
      raise(ErrorKind::kCheckpoint,
            "{}: the checkpoint's tensor '{}' is not in the model; check the model", saved.path(),
            entry.path.substr(prefix.size()));
}

void check_slots(const SharedCheckpoint& saved, const TrainingState& state) {
  if (state.trained.empty()) return;
  for (const std::string& slot : state.optimizer.slots()) {
    const std::string prefix = optimizer_path(slot, "");
    if (std::ranges::none_of(saved.tensors(), [&](const TensorEntry& entry) {
          return entry.path.starts_with(prefix);
        }))
      raise(ErrorKind::kCheckpoint,
            "{}: the checkpoint has no optimizer state '{}': it was saved by another optimizer; "
            "check the optimizer",
            saved.path(), slot);
  }
}

/// Returns when the host's copy is no longer needed.
Tensor put_and_wait(Engine& engine, HostTensor value, InputKind kind, const std::string& name) {
  const DeviceTensorPtr tensor = engine.device().copy_to_device({std::move(value)}, name);
  tensor->ready->wait();
  return engine.adopt(tensor, kind, name);
}

/// What a slot holds in a state that begins with these values.
void begin_slot(const std::string& slot, const std::string& name, HostTensor& place,
                const NamedTensors& values) {
  if (slot == kAverageSlot)
    copy_into(place, values.at(name));
  else
    std::memset(place.bytes().data(), 0, place.bytes().size());
}

/// Broadcasts rank 0's parameters and buffers to all ranks.
void broadcast_values(TrainingState& state, Engine& engine, Communicator& communicator) {
  if (communicator.size() == 1) return;
  const OwnReads before_training(engine.context());
  for (const StateTensor& tensor : state_tensors(state)) {
    if (!is_saved(tensor) || !tensor.slot.empty()) continue;
    HostTensor host = tensor.value->to_host();
    CollectiveRequest request;
    request.kind = CollectiveKind::kBroadcast;
    request.data = host.bytes().data();
    request.dtype = host.dtype();
    request.count = host.shape().elements();
    communicator.wait(communicator.submit(request));
    if (!communicator.is_master_ordinal())
      *tensor.value = put(engine, std::move(host), tensor.kind(), tensor.name);
  }
}

/// Averages without a value get that of their parameter.
void begin_averages(TrainingState& state, Engine& engine) {
  const OwnReads before_training(engine.context());
  const std::span<Tensor> averages = state.averages();
  for (std::size_t i = 0; i < averages.size(); ++i) {
    if (averages[i].defined()) continue;
    const Parameter& parameter = *state.trained[i];
    averages[i] = put_and_wait(engine, parameter.value.to_host(), InputKind::kState,
                               std::string(kAverageSlot) + "." + parameter.name);
  }
}

}  // namespace

TrainingState::TrainingState(Module& module_, Optimizer optimizer_, DType compute_dtype_,
                             OptimizerGroups groups_, double ema_)
    : module(module_),
      optimizer(std::move(optimizer_)),
      groups(std::move(groups_)),
      ema(ema_),
      compute_dtype(compute_dtype_),
      trained(module_.parameters().trained()) {
  for (const std::string& slot : optimizer.slots()) {
    LS_USER_CHECK(slot != kAverageSlot, "a slot of an optimizer cannot have the name '{}'", slot);
    slots[slot].resize(trained.size());
  }
  if (ema > 0) slots[kAverageSlot].resize(trained.size());
  for (const auto& [name, rule] : groups) {
    LS_USER_CHECK(
        std::ranges::any_of(trained, [&](const Parameter* p) { return p->group == name; }),
        "no trained parameter is in group '{}'; add some with Module::set_group()", name);
    LS_USER_CHECK(
        rule.slots() == optimizer.slots(),
        "group '{}' must have the same update rule as the other parameters, with other settings",
        name);
  }
}

std::span<Tensor> TrainingState::averages() {
  const auto found = slots.find(kAverageSlot);
  return found == slots.end() ? std::span<Tensor>() : std::span(found->second);
}

std::vector<StateTensor> state_tensors(TrainingState& state) {
  using Role = StateTensor::Role;
  std::vector<StateTensor> out;
  for (Parameter& p : state.module.parameters().all())
    out.push_back({Role::kParameter, {DType::kF32, p.shape}, p.name, "", &p.value});
  for (ModuleBuffer& b : state.module.buffers().all())
    out.push_back({Role::kBuffer, {b.dtype(), b.shape()}, b.name, "", &b.value});
  std::vector<std::string> slots = state.optimizer.slots();
  if (state.ema > 0) slots.emplace_back(kAverageSlot);
  for (const std::string& slot : slots)
    for (std::size_t i = 0; i < state.trained.size(); ++i)
      out.push_back({Role::kSlot,
                     {DType::kF32, state.trained[i]->shape},
                     state.trained[i]->name,
                     slot,
                     &state.slots.at(slot)[i]});
  out.push_back(
      {Role::kStateFinite, {DType::kBool, Shape{}}, "state_finite", "", &state.state_finite});
  if (state.compute_dtype == DType::kF32) return out;
  for (Parameter& p : state.module.parameters().all())
    if (p.in_dots)
      out.push_back({Role::kCopy, {state.compute_dtype, p.shape}, p.name, "", &p.copy});
  return out;
}

// Compares the bits without the sign, which have the order of the magnitudes, so that the loop is
// vectorized.
double largest_magnitude(const HostTensor& tensor) {
  std::uint32_t largest = 0;
  for (const float value : tensor.as<const float>())
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffU);
  return std::bit_cast<float>(largest);
}

std::int64_t state_bytes(TrainingState& state) {
  std::int64_t bytes = 0;
  for (const StateTensor& tensor : state_tensors(state))
    bytes += static_cast<std::int64_t>(Allocator::block_bytes(tensor.type.bytes()));
  return bytes;
}

double draw_values(Module& module, Engine& engine, std::uint64_t seed, const GivenValues& given) {
  double largest = 0;
  for (Parameter& p : module.parameters().all()) {
    std::optional<HostTensor> value = given ? given(p.name) : std::nullopt;
    const bool was_read = value.has_value();
    if (!was_read) value = initial_value(p, seed);
    largest = std::max(largest, largest_magnitude(*value));
    p.value = was_read ? put_and_wait(engine, std::move(*value), InputKind::kParameter, p.name)
                       : put(engine, std::move(*value), InputKind::kParameter, p.name);
  }
  for (ModuleBuffer& b : module.buffers().all()) {
    std::optional<HostTensor> value = given ? given(b.name) : std::nullopt;
    b.value = put(engine, value ? std::move(*value) : b.initial, InputKind::kState, b.name);
  }
  return largest;
}

void begin_state(TrainingState& state, Engine& engine, Communicator& communicator,
                 std::uint64_t seed, const GivenValues& given) {
  state.initial_magnitude = draw_values(state.module, engine, seed, given);
  broadcast_values(state, engine, communicator);
  // Made after the broadcast tensors, which the other ranks made again, so that tensors have the
  // same order, and steps the same structure, on all ranks.
  for (const StateTensor& tensor : state_tensors(state))
    if (tensor.role == StateTensor::Role::kSlot && tensor.slot != kAverageSlot)
      *tensor.value = zeros(engine, tensor.type.shape, tensor.label());
  begin_averages(state, engine);
}

void draw_again(TrainingState& state, std::uint64_t seed, const GivenValues& given,
                CheckpointState& out) {
  const auto put_given = [&](const std::string& name, HostTensor& place) {
    const std::optional<HostTensor> value = given ? given(name) : std::nullopt;
    if (value) copy_into(place, *value);
    return value.has_value();
  };
  for (const Parameter& p : state.module.parameters().all())
    if (HostTensor& place = out.model.at(p.name); !put_given(p.name, place))
      copy_into(place, initial_value(p, seed));
  for (const ModuleBuffer& b : state.module.buffers().all())
    if (HostTensor& place = out.model.at(b.name); !put_given(b.name, place))
      copy_into(place, b.initial);
  for (auto& [slot, tensors] : out.optimizer)
    for (auto& [name, place] : tensors) begin_slot(slot, name, place, out.model);
}

void read_again(const CheckpointReader& saved, CheckpointState& out) {
  const auto find = [&](const std::string& path) {
    const auto found = std::ranges::lower_bound(saved.tensors(), path, {}, &TensorEntry::path);
    return found != saved.tensors().end() && found->path == path ? &*found : nullptr;
  };
  const auto has = [&](const std::string& path) { return find(path) != nullptr; };
  const auto read = [&](const std::string& path, HostTensor& place) {
    const TensorEntry* found = find(path);
    LS_CHECK(found != nullptr, "{} is gone", path);
    copy_into(place, saved.read(*found));
  };
  for (auto& [name, place] : out.model) read(model_path(name), place);
  for (auto& [slot, tensors] : out.optimizer)
    for (auto& [name, place] : tensors)
      if (has(optimizer_path(slot, name)))
        read(optimizer_path(slot, name), place);
      else
        begin_slot(slot, name, place, out.model);
}

void make_state_finite(TrainingState& state, Engine& engine) {
  state.state_finite =
      put(engine, HostTensor::scalar<bool>(true), InputKind::kState, "state_finite");
}

void check_saved_fits(TrainingState& state, const SharedCheckpoint& saved) {
  const std::vector<StateTensor> tensors = state_tensors(state);
  check_no_strangers(saved, tensors);
  check_slots(saved, state);
  for (const StateTensor& tensor : tensors)
    if (is_saved(tensor) && (tensor.slot.empty() || saved.find(saved_path(tensor)) != nullptr))
      find_saved(saved, tensor);
}

std::vector<std::string> restore(TrainingState& state, Engine& engine,
                                 const SharedCheckpoint& saved) {
  check_saved_fits(state, saved);
  std::vector<std::string> new_to_training;
  for (const StateTensor& tensor : state_tensors(state)) {
    if (!is_saved(tensor)) continue;
    if (!tensor.slot.empty() && saved.find(saved_path(tensor)) == nullptr) {
      if (tensor.slot == kAverageSlot) continue;
      if (!std::ranges::count(new_to_training, tensor.name)) new_to_training.push_back(tensor.name);
      *tensor.value = zeros(engine, tensor.type.shape, tensor.label());
      continue;
    }
    HostTensor value = saved.read(find_saved(saved, tensor));
    if (tensor.role == StateTensor::Role::kParameter)
      state.initial_magnitude = std::max(state.initial_magnitude, largest_magnitude(value));
    *tensor.value = put_and_wait(engine, std::move(value), tensor.kind(), tensor.label());
  }
  begin_averages(state, engine);
  state.progress = saved.trainer();
  return new_to_training;
}

void restore_model(TrainingState& state, Engine& engine, const SharedCheckpoint& saved,
                   SavedWeights which) {
  const std::vector<StateTensor> tensors = state_tensors(state);
  check_no_strangers(saved, tensors);
  if (which == SavedWeights::kAveraged) require_averages(saved.path(), saved.tensors());
  for (StateTensor tensor : tensors) {
    if (!is_saved(tensor) || !tensor.slot.empty()) continue;
    const InputKind kind = tensor.kind();
    if (which == SavedWeights::kAveraged &&
        saved.find(optimizer_path(kAverageSlot, tensor.name)) != nullptr)
      tensor.slot = kAverageSlot;
    *tensor.value = put_and_wait(engine, saved.read(find_saved(saved, tensor)), kind, tensor.name);
  }
  state.progress = saved.trainer();
}

void require_averages(const std::string& path, std::span<const TensorEntry> tensors) {
  const std::string prefix = optimizer_path(kAverageSlot, "");
  LS_USER_CHECK(
      std::ranges::any_of(tensors,
                          [&](const TensorEntry& entry) { return entry.path.starts_with(prefix); }),
      "{}: --ema takes averaged weights, which this run did not keep (training.ema)", path);
}

void make_copies(TrainingState& state, Engine& engine) {
  if (state.compute_dtype == DType::kF32) return;
  for (Parameter& parameter : state.module.parameters().all())
    if (parameter.in_dots) parameter.copy = convert(parameter.value, state.compute_dtype);
  engine.mark_step();
}

}  // namespace lockstep
