#include "trainer/dry_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/single.h"
#include "core/engine/step_memory.h"
#include "trainer/checkpoint_writer.h"
#include "trainer/cli/machine.h"
#include "trainer/training_step.h"

namespace lockstep {
namespace {

/// A tensor of the right type whose memory never exists.
Tensor phantom(Engine& engine, Type type, InputKind kind, const std::string& name) {
  return engine.adopt(std::make_shared<DeviceTensor>(type, name), kind, name);
}

void give_phantoms(TrainingState& state, Engine& engine) {
  const DType compute_dtype = state.model->compute_dtype();
  const auto add = [&](const Type& type, InputKind kind, const std::string& name) {
    return phantom(engine, type, kind, name);
  };
  for (Parameter& parameter : state.model->parameters().all()) {
    const Type type{DType::kF32, parameter.shape};
    parameter.value = add(type, InputKind::kParameter, parameter.name);
    if (parameter.in_dots && compute_dtype != DType::kF32)
      parameter.copy = add({compute_dtype, parameter.shape}, InputKind::kState, parameter.name);
    for (const std::string& slot : state.optimizer->slots())
      state.slots[slot].push_back(add(type, InputKind::kState, slot + "." + parameter.name));
  }
  state.sound = add({DType::kBool, Shape{}}, InputKind::kState, "sound");
}

TensorMap phantom_batch(Engine& engine, const DataSource& data, std::int64_t micro_batch,
                        std::int64_t& bytes) {
  TensorMap out;
  for (const FieldSpec& field : data.train->fields()) {
    Shape shape{micro_batch};
    for (int i = 0; i < field.shape.rank(); ++i) shape.push_back(field.shape.dim(i));
    const Type type{field.dtype, shape};
    bytes += static_cast<std::int64_t>(Allocator::block_bytes(type.bytes()));
    out[field.name] = phantom(engine, type, InputKind::kBatch, "batch." + field.name);
  }
  return out;
}

/// A compiled step whose tensors never had memory.
struct DryStep {
  std::shared_ptr<const CompiledStep> step;
  std::int64_t batch_bytes = 0;  ///< one logical shard's
};

DryStep compile_dry(const Config& config, Engine& engine, TrainingState& state,
                    const DataSource& data, std::int64_t micro_batch) {
  DryStep out;
  give_phantoms(state, engine);
  const TensorMap fields = phantom_batch(engine, data, micro_batch, out.batch_bytes);
  const StepInputs inputs{phantom(engine, {DType::kI64, Shape{}}, InputKind::kBatch, "shard"), 0};
  UpdateOptions update;
  update.clip_norm = config.training.gradient_clip_norm;
  update.stop_at_nonfinite = config.training.on_nonfinite == OnNonfinite::kStop;
  const StepResult result = record_step(state, fields, inputs, update);
  out.step = engine.compile_pending();
  return out;
}

std::string line(const char* what, std::int64_t bytes) {
  return fmt::format("  {:<28} {:>10}\n", what, format_bytes(static_cast<double>(bytes)));
}

/// A line for each of the ten largest tensors that live as long as the run.
std::string describe_largest(const TrainingState& state) {
  std::vector<StateTensor> tensors = state_tensors(state);
  std::stable_sort(tensors.begin(), tensors.end(), [](const StateTensor& a, const StateTensor& b) {
    return a.type.bytes() > b.type.bytes();
  });
  constexpr std::size_t kListed = 10;
  std::string out;
  for (std::size_t i = 0; i < std::min(tensors.size(), kListed); ++i)
    out +=
        fmt::format("  {:>10}  {} {}\n", format_bytes(static_cast<double>(tensors[i].type.bytes())),
                    tensors[i].type.to_string(), tensors[i].name);
  return out;
}

struct MachineVerdict {
  std::string text;
  bool fits = true;
};

/// The simulated devices' memory is the machine's: whether it has enough for its ranks.
MachineVerdict judge_machine(std::int64_t bytes_per_rank, std::int64_t staging,
                             const Topology& topology) {
  const auto available = static_cast<double>(available_memory());
  if (available == 0) return {};  // nobody knows
  const auto ranks = topology.ranks_of(topology.node()).size();
  const double needed = static_cast<double>(bytes_per_rank) * static_cast<double>(ranks) +
                        static_cast<double>(staging);
  const std::string amounts =
      fmt::format("{} for {} {} here, {} available", format_bytes(needed), ranks,
                  ranks == 1 ? "rank" : "ranks", format_bytes(available));
  if (needed <= available) return {"fits this machine: " + amounts + "\n", true};
  return {"does NOT fit this machine: " + amounts + "\n", false};
}

}  // namespace

CompiledConfig compile_config(const Config& config) {
  const DataSource data = open_data(config, "");
  TrainingState state = make_training_state(config, data.vocab_size);
  Watch watch;
  Session session(config, Settings{}, make_single_communicator(), "", watch);
  const DryStep dry =
      compile_dry(config, session.engine(), state, data, config.training.micro_batch_size);
  return {dry.step, state.model->parameters().elements(),
          static_cast<std::int64_t>(state.optimizer->slots().size())};
}

DryRun describe_dry_run(const Config& config, Session& session, TrainingState& state,
                        const DataSource& data, const BatchPlan& batch) {
  const DryStep dry = compile_dry(config, session.engine(), state, data, batch.micro_batch);
  const auto& step = dry.step;
  const StepMemory need = step_memory(*step, batch.shards_per_rank);
  const std::int64_t tensors = state_bytes(state);
  const std::int64_t prefetched =
      dry.batch_bytes * batch.shards_per_rank *
      (config.data.device_prefetch_size + config.device.queue_depth + 1);
  const std::int64_t total = tensors + need.total() + prefetched;

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
                  count_launches(step->shard), count_launches(step->update), flops * 1e-9);
  out += "device memory of a rank at its peak:\n";
  out += line("parameters, optimizer state", tensors);
  out += line("gradient sums", need.gradient_sums);
  out += line("activations, temporaries", need.arena);
  out += line("new values not in place", need.outputs + need.scalars);
  out += line("batches, prefetched", prefetched);
  out += line("total", total);
  const Topology& topology = session.communicator().topology();
  const bool saves_here =
      config.checkpoint.save_interval >= 0 && topology.node() == topology.node_of(0);
  const std::int64_t staging = saves_here ? CheckpointWriter::staging_bytes(state) : 0;
  if (staging > 0) out += "host memory of rank 0:\n" + line("staging of checkpoints", staging);
  out += "largest parameters and optimizer slots:\n" + describe_largest(state);
  const bool shard = step->shard.arena_bytes >= step->update.arena_bytes;
  out += fmt::format("largest values of the {} program at its peak:\n", shard ? "shard" : "update");
  out += (shard ? step->shard : step->update).largest_values;
  const double limit = config.device.memory_gb * 0x1p30;
  const bool fits = static_cast<double>(total) <= limit;
  out += fits ? fmt::format("fits device.memory_gb {} ({:.0f} %)\n", config.device.memory_gb,
                            100.0 * static_cast<double>(total) / limit)
              : fmt::format("does NOT fit device.memory_gb {}: {} are needed\n",
                            config.device.memory_gb, format_bytes(static_cast<double>(total)));
  const MachineVerdict machine = judge_machine(total, staging, topology);
  return {out + machine.text, fits && machine.fits};
}

}  // namespace lockstep
