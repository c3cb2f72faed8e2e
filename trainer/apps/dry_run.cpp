#include "trainer/apps/dry_run.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "collectives/single.h"
#include "core/runtime/compiled_step.h"
#include "core/runtime/plan_cost.h"
#include "data/length_buckets.h"
#include "trainer/apps/from_config.h"
#include "trainer/apps/run_memory.h"
#include "trainer/machine/machine.h"
#include "trainer/registry/open_data.h"
#include "trainer/registry/registry.h"
#include "trainer/task/batch_types.h"
#include "trainer/task/model.h"
#include "trainer/train/checkpoint_writer.h"

namespace lockstep {
namespace {

std::string line(const char* what, std::int64_t bytes) {
  return fmt::format("  {:<28} {:>10}\n", what, format_bytes(static_cast<double>(bytes)));
}

/// A line for each of the ten largest tensors that live as long as the run.
std::string describe_largest(TrainingState& state) {
  std::vector<StateTensor> tensors = state_tensors(state);
  std::stable_sort(tensors.begin(), tensors.end(), [](const StateTensor& a, const StateTensor& b) {
    return a.type.bytes() > b.type.bytes();
  });
  constexpr std::size_t kListed = 10;
  std::string out;
  for (std::size_t i = 0; i < std::min(tensors.size(), kListed); ++i)
    out +=
        fmt::format("  {:>10}  {} {}\n", format_bytes(static_cast<double>(tensors[i].type.bytes())),
                    tensors[i].type.to_string(), tensors[i].label());
  return out;
}

/// A line for each class of work of a step of one rank, the longest first.
std::string describe_lower_bound(const CompiledStep& step, std::int64_t micro_batches,
                                 const MachineLimits& limits, BusyCores cores) {
  const BundleSeconds seconds = lower_bounds_of_bundles(limits, cores);
  const CostByClass gradient = cost_by_class(step.gradient, seconds);
  const CostByClass update = cost_by_class(step.update, seconds);
  std::vector<std::pair<double, std::string>> classes;
  double sum = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double ms =
        1e3 * (gradient[i].seconds * static_cast<double>(micro_batches) + update[i].seconds);
    if (ms > 0) classes.emplace_back(ms, name_of(static_cast<WorkClass>(i)));
    sum += ms;
  }
  std::ranges::sort(classes, std::greater<>());
  std::string out =
      fmt::format("lower bound of the time of a step's commands ({}):\n", limits.origin());
  for (const auto& [ms, name] : classes)
    out += fmt::format("  {:<28} {:>10.3f} ms {:>3.0f} %\n", name, ms, 100 * ms / sum);
  return out + fmt::format("  {:<28} {:>10.3f} ms\n", "total", sum);
}

/// Calls f with what a training step of the config needs, in a session of its own.
template <class F>
auto with_training(const Config& config, const Registry& registry, const Settings& settings,
                   const F& f) {
  const DataSource data = open_data(config, registry, "");
  const std::unique_ptr<Model> model = registry.make_model(config.model, {data.vocab_size});
  TrainingState state = make_training_state(config, registry, *model);
  Watch watch;
  RankRuntime runtime(config, settings, make_single_communicator(), watch);
  return f(runtime, state, *model, data);
}

struct MachineVerdict {
  std::string text;
  bool fits = true;
};

/// Whether the machine's memory is enough for the simulated devices of its ranks.
MachineVerdict judge_machine(std::int64_t bytes_per_rank, std::int64_t staging,
                             const Topology& topology) {
  const auto available = static_cast<double>(available_memory());
  if (available == 0) return {};  // unknown
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

RecordedConfig record_config(const Config& config, const Registry& registry) {
  return with_training(
      config, registry, {},
      [&](RankRuntime& runtime, TrainingState& state, const Model& model, const DataSource& data) {
        RecordedConfig out;
        out.step =
            record_training(config, runtime.engine(), state, std::cref(model),
                            longest_batch(config, data, training_sampler(config, data.train)));
        out.parameters = state.module.parameters().elements();
        out.slots = static_cast<std::int64_t>(state.optimizer.slots().size());
        out.samples = data.train->size();
        out.tokens_per_sample = data.tokens_per_sample;
        return out;
      });
}

CompiledConfig compile_config(const Config& config, const Registry& registry, MaxIsa max) {
  Settings settings;
  settings.max_isa = max;
  return with_training(
      config, registry, settings,
      [&](RankRuntime& runtime, TrainingState& state, const Model& model, const DataSource& data) {
        const auto step =
            compile_training(config, runtime.engine(), state, std::cref(model),
                             longest_batch(config, data, training_sampler(config, data.train)));
        return CompiledConfig{step, state.module.parameters().elements(),
                              static_cast<std::int64_t>(state.optimizer.slots().size())};
      });
}

DryRun describe_dry_run(const Config& config, RankRuntime& runtime, TrainingState& state,
                        const LossFunction& loss, const DataSource& data, const StepPlan& plan,
                        const MachineLimits& limits) {
  const BatchPlan& batch = plan.batch;
  const ChosenPadding chosen = step_padding(padding_of(config.data), *data.train, plan.sampler);
  const BatchTypes fields = train_batch_types(*data.train, chosen.padding, batch.micro_batch_size);
  const auto step = compile_training(config, runtime.engine(), state, loss, fields);
  const RunMemory need = run_memory(config, runtime.device().options(), runtime.engine(), state,
                                    loss, data, batch, fields, *step);
  const std::int64_t total = need.total();

  double flops = 0;
  for (const Command& command : step->gradient.commands)
    flops += command.flops * static_cast<double>(batch.micro_batches_per_rank);
  for (const Command& command : step->update.commands) flops += command.flops;

  std::string out =
      fmt::format("model: {:L} parameters in {} tensors\n", state.module.parameters().elements(),
                  state.module.parameters().all().size());
  out += batch.to_string() + "\n";
  if (!chosen.text.empty()) out += chosen.text + "; for the longest:\n";
  out += fmt::format(
      "programs: gradient {} commands, update {} commands, {:.3f} GFLOP a step and rank\n",
      count_bundles(step->gradient), count_bundles(step->update), flops * 1e-9);
  const Topology& topology = runtime.communicator().topology();
  const auto ranks = static_cast<int>(topology.ranks_of(topology.node()).size());
  out += describe_lower_bound(*step, batch.micro_batches_per_rank, limits,
                              {.threads = runtime.device().options().threads, .ranks = ranks});
  out += "peak device memory of a rank:\n";
  out += line("parameters, optimizer state", need.state);
  out += line("gradient sums", need.step.gradient_sums);
  out += line("activations, temporaries", need.step.arena);
  out += line("new values not in place", need.step.updates + need.step.scalars);
  out += line("batches, prefetched", need.batches);
  out += line("results of steps in flight", need.results);
  if (need.evaluation > 0) out += line("more while evaluating", need.evaluation);
  out += fmt::format("  {:<28} {:>10} ({} bytes)\n", "total",
                     format_bytes(static_cast<double>(total)), total);
  const bool saves_here =
      config.checkpoint.save_interval >= 0 && topology.node() == topology.node_of(0);
  const std::int64_t staging = saves_here ? CheckpointWriter::staging_bytes(state) : 0;
  if (staging > 0) out += "host memory of rank 0:\n" + line("staging of checkpoints", staging);
  out += "largest parameters and optimizer slots:\n" + describe_largest(state);
  const bool gradient = step->gradient.arena_bytes >= step->update.arena_bytes;
  out += fmt::format("largest values of the {} program at its peak:\n",
                     gradient ? "gradient" : "update");
  out += (gradient ? step->gradient : step->update).largest_values;
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
