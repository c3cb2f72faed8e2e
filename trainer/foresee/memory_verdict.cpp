#include "trainer/foresee/memory_verdict.h"

#include <algorithm>

#include "core/base/error.h"
#include "trainer/apps/fitting_micro_batch.h"
#include "trainer/apps/memory_remedies.h"

namespace lockstep {
namespace {

/// The name of an option of `lockstep foresee`.
constexpr const char* kParallelismOption = "--parallelism ";

/// Over how many devices weights and gradients are divided.
std::int64_t weight_shards(const Deployment& deployment) {
  switch (deployment.parallelism) {
    case Parallelism::kReplicated:
    case Parallelism::kZero1: return 1;
    case Parallelism::kFsdp: return deployment.devices;
    case Parallelism::kHsdp: return deployment.devices / deployment.nodes;
  }
  __builtin_unreachable();
}

std::int64_t slot_shards(const Deployment& deployment) {
  return deployment.parallelism == Parallelism::kZero1 ? deployment.devices
                                                       : weight_shards(deployment);
}

std::int64_t share(std::int64_t bytes, std::int64_t shards) {
  return (bytes + shards - 1) / shards;
}

DeviceBytesOf bytes_on(const Deployment& deployment) {
  return [deployment](const PlannedRun& run, const BatchPlan& batch) {
    const DeviceMemory memory = device_memory(run, batch, deployment);
    const std::int64_t growing = memory.activations + memory.batches + memory.evaluation;
    return DeviceBytes{memory.total() - growing, growing};
  };
}

}  // namespace

DeviceMemory device_memory(const PlannedRun& run, const BatchPlan& batch,
                           const Deployment& deployment) {
  const RunMemory memory = run_memory(run, batch);
  const std::int64_t weights = weight_shards(deployment);
  DeviceMemory out;
  out.parameters = share(memory.state - run.slot_bytes, weights);
  out.optimizer = share(run.slot_bytes, slot_shards(deployment));
  out.gradients = share(memory.step.gradient_sums, weights);
  out.activations = memory.step.arena + share(memory.step.updates, weights) + memory.step.scalars;
  out.gathered = weights > 1 ? 2 * run.largest_block_bytes : 0;
  out.batches = memory.batches + memory.results;
  out.evaluation = memory.evaluation;
  return out;
}

DeviceMemory foreseen_memory(const ForeseenStep& step, const LoadedConfig& config,
                             const ForeseeOptions& options) {
  const Deployment deployment = deployment_of(options);
  return device_memory(step.run, plan_batch(in_any_order(config.config).batch, deployment.devices),
                       deployment);
}

std::int64_t memory_of(const DeviceProfile& device, const ForeseeOptions& options) {
  const int shared_by = device.calibrated ? options.per_node : 1;
  return static_cast<std::int64_t>(device.memory_gib.value * 0x1p30) / shared_by;
}

MemoryVerdict judge_memory(const ForeseenStep& step, const LoadedConfig& config,
                           const DeviceProfile& device, const ForeseeOptions& options,
                           RunPlanner& planner, const Registry& registry) {
  const Config any_order = in_any_order(config.config);
  const Deployment deployment = deployment_of(options);
  const BatchPlan batch = plan_batch(any_order.batch, deployment.devices);
  MemoryVerdict out;
  out.limit = memory_of(device, options);
  out.memory = device_memory(step.run, batch, deployment);
  const bool gradient = step.run.step->gradient.arena_bytes >= step.run.step->update.arena_bytes;
  out.largest = (gradient ? step.run.step->gradient : step.run.step->update).largest_values;
  out.host_of_rank = loader_bytes(step.run, batch);
  out.host_staging = config.config.checkpoint.save_interval >= 0 ? step.run.staging : 0;

  const auto seconds = [&](const Config& with, const PlannedRun& run, const ForeseeOptions& how) {
    LoadedConfig loaded = config;
    loaded.config = with;
    return foresee(foreseen_step(with, run), loaded, device, how).time.seconds;
  };
  if (const auto found = largest_micro_batch(any_order, planner, deployment.devices,
                                             bytes_on(deployment), out.limit, &step.run)) {
    Config with = any_order;
    with.batch.micro_batch_size = found->micro_batch_size;
    out.largest_micro_batch = {fmt::format("training.micro_batch_size={}", found->micro_batch_size),
                               found->bytes.total(), seconds(with, found->run, options)};
  }
  if (out.fits() && !options.alternatives) return out;
  for (const Remedy& remedy : memory_remedies(any_order, registry)) {
    if (remedy.config.training.precision != any_order.training.precision && options.math) continue;
    const PlannedRun run = planner.plan(remedy.config);
    out.others.push_back({remedy.setting, device_memory(run, batch, deployment).total(),
                          seconds(remedy.config, run, options)});
  }
  if (deployment.devices == 1 || deployment.parallelism != Parallelism::kReplicated) return out;
  for (const Parallelism each : {Parallelism::kZero1, Parallelism::kFsdp}) {
    ForeseeOptions how = options;
    how.deployment.parallelism = each;
    out.others.push_back({kParallelismOption + std::string(name_of(each)),
                          device_memory(step.run, batch, deployment_of(how)).total(),
                          seconds(any_order, step.run, how)});
  }
  return out;
}

LoadedConfig settle_micro_batch(const LoadedConfig& config, const DeviceProfile& device,
                                const ForeseeOptions& options, RunPlanner& planner) {
  if (config.config.batch.micro_batch_size != kAutoMicroBatch) return config;
  const Deployment deployment = deployment_of(options);
  check_batch(config, deployment.devices);
  const auto found = largest_micro_batch(in_any_order(config.config), planner, deployment.devices,
                                         bytes_on(deployment), memory_of(device, options));
  if (!found)
    raise(ErrorKind::kOutOfMemory,
          "no micro-batch that divides training.global_batch_size {} over {} {} fits the {} GiB of "
          "{}",
          config.config.batch.global_batch_size, deployment.devices,
          deployment.devices == 1 ? "device" : "devices", device.memory_gib.value, device.name);
  LoadedConfig out = config;
  out.config.batch.micro_batch_size = found->micro_batch_size;
  return out;
}

std::string verdict_text(const MemoryVerdict& verdict) {
  const auto bytes = [](std::int64_t n) { return format_bytes(static_cast<double>(n)); };
  const DeviceMemory& m = verdict.memory;
  std::string out = fmt::format(
      "memory of a device: {} of {} ({:.0f} %): {}\n", bytes(m.total()), bytes(verdict.limit),
      100.0 * static_cast<double>(m.total()) / static_cast<double>(verdict.limit),
      verdict.fits() ? "fits" : "does NOT fit");
  const auto line = [&](const char* what, std::int64_t n) {
    if (n > 0) out += fmt::format("  {:<40} {:>10}\n", what, bytes(n));
  };
  line("parameters", m.parameters);
  line("optimizer state", m.optimizer);
  line("gradient sums", m.gradients);
  line("activations, temporaries", m.activations);
  line("weights gathered from other devices", m.gathered);
  line("batches, results", m.batches);
  line("more while evaluating", m.evaluation);
  out += "largest values at the peak:\n" + verdict.largest;
  std::size_t width = 40;
  for (const Alternative& each : verdict.others) width = std::max(width, each.setting.size());
  const auto alternative = [&](const Alternative& each) {
    out += fmt::format("  {:<{}} {:>10} {:>12.4g} ms a step{}\n", each.setting, width,
                       bytes(each.bytes), 1e3 * each.seconds,
                       each.bytes <= verdict.limit ? "" : ", does NOT fit");
  };
  if (verdict.largest_micro_batch) {
    out += "the largest micro-batch that fits:\n";
    alternative(*verdict.largest_micro_batch);
  } else {
    out += "no micro-batch that divides the global batch fits\n";
  }
  if (!verdict.others.empty()) out += "with other settings:\n";
  for (const Alternative& each : verdict.others) alternative(each);
  out += fmt::format("host memory: {} of batches for each rank, {} to save checkpoints\n",
                     bytes(verdict.host_of_rank), bytes(verdict.host_staging));
  return out;
}

}  // namespace lockstep
