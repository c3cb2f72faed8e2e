#include "trainer/apps/dry_run.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/runtime/plan_cost.h"
#include "data/length_buckets.h"
#include "trainer/apps/fitting_micro_batch.h"
#include "trainer/apps/from_config.h"
#include "trainer/apps/memory_remedies.h"
#include "trainer/machine/machine.h"

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

/// Seconds of a step's commands on one rank, at least, by class of work.
std::vector<std::pair<double, std::string>> least_seconds(const CompiledStep& step,
                                                          std::int64_t micro_batches,
                                                          const BundleSeconds& seconds) {
  const CostByClass gradient = cost_by_class(step.gradient, seconds);
  const CostByClass update = cost_by_class(step.update, seconds);
  std::vector<std::pair<double, std::string>> out;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double all = gradient[i].seconds * static_cast<double>(micro_batches) + update[i].seconds;
    if (all > 0) out.emplace_back(all, name_of(static_cast<WorkClass>(i)));
  }
  return out;
}

double sum_of(const std::vector<std::pair<double, std::string>>& classes) {
  double out = 0;
  for (const auto& [seconds, name] : classes) out += seconds;
  return out;
}

/// A line for each class of work of a step of one rank, the longest first.
std::string describe_lower_bound(const CompiledStep& step, std::int64_t micro_batches,
                                 const MachineLimits& limits, const BundleSeconds& seconds) {
  auto classes = least_seconds(step, micro_batches, seconds);
  const double sum = sum_of(classes);
  std::ranges::sort(classes, std::greater<>());
  std::string out =
      fmt::format("lower bound of the time of a step's commands ({}):\n", limits.origin());
  for (const auto& [part, name] : classes)
    out += fmt::format("  {:<28} {:>10.3f} ms {:>3.0f} %\n", name, 1e3 * part, 100 * part / sum);
  return out + fmt::format("  {:<28} {:>10.3f} ms\n", "total", 1e3 * sum);
}

/// Host memory besides that of the simulated devices.
struct HostNeed {
  std::int64_t program = 0;  ///< of a rank: code, libraries, compiled kernels
  std::int64_t loader = 0;   ///< of a rank
  std::int64_t staging = 0;  ///< of rank 0
};

std::string describe_host(const HostNeed& host) {
  std::string out = "host memory of a rank:\n" + line("the program", host.program) +
                    line("batches, prefetched", host.loader);
  if (host.staging > 0) out += line("checkpoints, rank 0 only", host.staging);
  return out;
}

struct MachineVerdict {
  std::string text;
  bool fits = true;
};

/// Whether the machine's memory is enough for the ranks with their simulated devices, and a
/// process's limit (ulimit -v) for one.
MachineVerdict judge_machine(std::int64_t device_bytes, const HostNeed& host,
                             const Topology& topology) {
  const auto ranks = topology.ranks_of(topology.node()).size();
  const auto bytes = [](double n) { return format_bytes(n); };
  MachineVerdict out;
  const double one = static_cast<double>(device_bytes + host.loader);
  const auto staging = static_cast<double>(host.staging);
  // The programs of all ranks run already.
  const double needed = one * static_cast<double>(ranks) + staging;
  const auto available = static_cast<double>(available_memory());
  if (available > 0) {
    out.fits = needed <= available;
    out.text = fmt::format("{} this machine: {} for {} {} here, {} available\n",
                           out.fits ? "fits" : "does NOT fit", bytes(needed), ranks,
                           ranks == 1 ? "rank" : "ranks", bytes(available));
  }
  if (const auto left = addressable_memory(); left && one + staging > static_cast<double>(*left)) {
    out.fits = false;
    out.text += fmt::format(
        "does NOT fit the limit of a process (ulimit -v): {} more are needed, "
        "{} are left\n",
        bytes(one + staging), bytes(static_cast<double>(*left)));
  }
  return out;
}

/// What other settings would need, a line each.
std::string describe_remedies(const Config& config, const Registry& registry, RunPlanner& planner,
                              const BatchPlan& batch, const BundleSeconds& seconds) {
  std::string out;
  for (const Remedy& remedy : memory_remedies(config, registry)) {
    const PlannedRun run = planner.plan(remedy.config);
    const double least = sum_of(least_seconds(*run.step, batch.micro_batches_per_rank, seconds));
    out +=
        fmt::format("  {:<64} {:>10}, lower bound {:.3f} ms\n", remedy.setting,
                    format_bytes(static_cast<double>(run_memory(run, batch).total())), 1e3 * least);
  }
  return out.empty() ? out : "with other settings:\n" + out;
}

std::string describe_largest_micro_batch(const std::optional<FittingMicroBatch>& largest,
                                         double memory_gb) {
  if (!largest) return fmt::format("no micro-batch size fits device.memory_gb {}\n", memory_gb);
  return fmt::format("largest micro-batch size that fits: {} ({})\n", largest->micro_batch_size,
                     format_bytes(static_cast<double>(largest->bytes.total())));
}

}  // namespace

DryRun describe_dry_run(const Config& config, const Registry& registry, RankRuntime& runtime,
                        TrainingState& state, const DataSource& data, const StepPlan& plan,
                        const MachineLimits& limits) {
  const BatchPlan& batch = plan.batch;
  RunPlanner planner(registry, data, runtime.engine().options(), runtime.device().options());
  const PlannedRun run = planner.plan(config);
  const CompiledStep& step = *run.step;
  const RunMemory need = run_memory(run, batch);
  const std::int64_t total = need.total();

  double flops = 0;
  for (const Command& command : step.gradient.commands)
    flops += command.flops * static_cast<double>(batch.micro_batches_per_rank);
  for (const Command& command : step.update.commands) flops += command.flops;

  std::string out = fmt::format("model: {:L} parameters in {} tensors\n", run.parameters,
                                state.module.parameters().all().size());
  out += batch.to_string() + "\n";
  const std::string padding = step_padding(padding_of(config.data), *data.train, plan.sampler).text;
  if (!padding.empty()) out += padding + "; for the longest:\n";
  out += fmt::format(
      "programs: gradient {} commands, update {} commands, {:.3f} GFLOP a step and rank\n",
      count_bundles(step.gradient), count_bundles(step.update), flops * 1e-9);
  const Topology& topology = runtime.communicator().topology();
  const auto ranks = static_cast<int>(topology.ranks_of(topology.node()).size());
  const BundleSeconds seconds = lower_bounds_of_bundles(
      limits, {.threads = runtime.device().options().threads, .ranks = ranks});
  out += describe_lower_bound(step, batch.micro_batches_per_rank, limits, seconds);
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
  const HostNeed host{.program = resident_memory(),
                      .loader = loader_bytes(run, batch),
                      .staging = saves_here ? run.staging : 0};
  out += describe_host(host);
  out += "largest parameters and optimizer slots:\n" + describe_largest(state);
  const bool gradient = step.gradient.arena_bytes >= step.update.arena_bytes;
  out += fmt::format("largest values of the {} program at its peak:\n",
                     gradient ? "gradient" : "update");
  out += (gradient ? step.gradient : step.update).largest_values;
  const auto limit = static_cast<std::int64_t>(runtime.device().options().memory_bytes);
  const bool fits = total <= limit;
  out += fits ? fmt::format("fits device.memory_gb {} ({:.0f} %)\n", config.device.memory_gb,
                            100.0 * static_cast<double>(total) / static_cast<double>(limit))
              : fmt::format("does NOT fit device.memory_gb {}: {} are needed\n",
                            config.device.memory_gb, format_bytes(static_cast<double>(total)));
  const MachineVerdict machine = judge_machine(total, host, topology);
  out += machine.text;
  if (!runtime.is_master()) return {out, fits && machine.fits};  // nobody reads the rest
  out += describe_largest_micro_batch(
      largest_micro_batch(config, planner, batch.ranks, rank_bytes, limit, &run),
      config.device.memory_gb);
  out += describe_remedies(config, registry, planner, batch, seconds);
  return {out, fits && machine.fits};
}

}  // namespace lockstep
