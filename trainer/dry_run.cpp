#include "trainer/dry_run.h"

#include <algorithm>

#include "trainer/training_step.h"

namespace lockstep {
namespace {

/// A tensor of the right type whose memory never exists.
Tensor phantom(Engine& engine, Type type, InputKind kind, const std::string& name) {
  return engine.adopt(std::make_shared<DeviceTensor>(type, name), kind, name);
}

std::int64_t give_phantoms(TrainingState& state, Engine& engine) {
  std::int64_t bytes = 0;
  const auto add = [&](const Shape& shape, InputKind kind, const std::string& name) {
    const Type type{DType::kF32, shape};
    bytes += static_cast<std::int64_t>(type.bytes());
    return phantom(engine, type, kind, name);
  };
  for (Parameter& parameter : state.model->parameters().all()) {
    parameter.value = add(parameter.shape, InputKind::kParameter, parameter.name);
    for (const std::string& slot : state.optimizer->slots())
      state.slots[slot].push_back(
          add(parameter.shape, InputKind::kState, slot + "." + parameter.name));
  }
  return bytes;
}

TensorMap phantom_batch(Engine& engine, const DataSource& data, std::int64_t micro_batch,
                        std::int64_t& bytes) {
  TensorMap out;
  for (const FieldSpec& field : data.train->fields()) {
    Shape shape{micro_batch};
    for (int i = 0; i < field.shape.rank(); ++i) shape.push_back(field.shape.dim(i));
    const Type type{field.dtype, shape};
    bytes += static_cast<std::int64_t>(type.bytes());
    out[field.name] = phantom(engine, type, InputKind::kBatch, "batch." + field.name);
  }
  return out;
}

std::string line(const char* what, std::int64_t bytes) {
  return fmt::format("  {:<28} {:>10}\n", what, format_bytes(static_cast<double>(bytes)));
}

}  // namespace

std::string describe_dry_run(const Config& config, Session& session, TrainingState& state,
                             const DataSource& data, const BatchPlan& batch) {
  Engine& engine = session.engine();
  const std::int64_t state_bytes = give_phantoms(state, engine);
  std::int64_t batch_bytes = 0;
  const TensorMap fields = phantom_batch(engine, data, batch.micro_batch, batch_bytes);
  const StepInputs inputs{phantom(engine, {DType::kI64, Shape{}}, InputKind::kBatch, "shard"), 0};
  UpdateOptions update;
  update.clip_norm = config.training.gradient_clip_norm;
  const StepResult result = record_step(state, fields, inputs, update);
  const auto step = engine.compile_pending();

  const std::int64_t arena = std::max(step->shard.arena_bytes, step->update.arena_bytes);
  const std::int64_t gradients = step->reduction.bytes * reduction_buffers(batch.shards_per_rank);
  // Outputs that are not written over their inputs.
  const std::int64_t fresh = step->update.peak_bytes - step->update.arena_bytes;
  const std::int64_t prefetched =
      batch_bytes * batch.shards_per_rank *
      (config.data.device_prefetch_size + config.device.queue_depth + 1);
  const std::int64_t total = state_bytes + arena + gradients + fresh + prefetched;

  double flops = 0;
  for (const Command& command : step->shard.commands)
    flops += command.flops * static_cast<double>(batch.shards_per_rank);
  for (const Command& command : step->update.commands) flops += command.flops;

  std::string out =
      fmt::format("model: {:L} parameters in {} tensors\n", state.model->parameters().elements(),
                  state.model->parameters().all().size());
  out += batch.to_string() + "\n";
  out +=
      fmt::format("programs: shard {} commands, update {} commands, {:.3f} GFLOP a step and rank\n",
                  step->shard.commands.size(), step->update.commands.size(), flops * 1e-9);
  out += "device memory of a rank at its peak:\n";
  out += line("parameters, optimizer state", state_bytes);
  out += line("gradient sums", gradients);
  out += line("activations, temporaries", arena);
  out += line("new values not in place", fresh);
  out += line("batches, prefetched", prefetched);
  out += line("total", total);
  out += "largest values of the shard program:\n" + step->shard.largest_values;
  const double limit = config.device.memory_gb * 0x1p30;
  out += static_cast<double>(total) <= limit
             ? fmt::format("fits device.memory_gb {} ({:.0f} %)\n", config.device.memory_gb,
                           100.0 * static_cast<double>(total) / limit)
             : fmt::format("does NOT fit device.memory_gb {}: {} are needed\n",
                           config.device.memory_gb, format_bytes(static_cast<double>(total)));
  return out;
}

}  // namespace lockstep
