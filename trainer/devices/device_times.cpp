#include "trainer/devices/device_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "core/base/error.h"
#include "core/engine/update_plans.h"
#include "core/kernels/kernel_cache.h"
#include "trainer/devices/calibrated_step.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/devices/disturbance_words.h"
#include "trainer/devices/row_times.h"
#include "trainer/devices/step_work.h"
#include "trainer/devices/this_machine.h"

namespace lockstep {
namespace {

constexpr double kBytesOfGb = 1e9;

Deployment deployment_of(const Config& config, const Topology& topology,
                         const DeviceProfile& device) {
  const std::int64_t simulated = config.distributed.simulated_nodes;
  const auto sharing = static_cast<int>(config.distributed.simulated_ranks_per_device);
  Deployment out;
  out.overlap = config.distributed.overlap;
  out.nodes = simulated > 0 ? static_cast<int>(simulated) : topology.nodes();
  const int ranks = topology.size();
  LS_USER_CHECK(sharing == 1 || !device.calibrated,
                "ranks of {} have cores of their own: distributed.simulated_ranks_per_device is "
                "for other devices",
                device.name);
  LS_USER_CHECK(ranks % (out.nodes * sharing) == 0,
                "{} ranks cannot stand for devices on {} nodes{}: distributed.simulated_nodes "
                "must divide the number of ranks",
                ranks, out.nodes, sharing == 1 ? "" : fmt::format(", {} a device", sharing));
  out.devices = ranks / sharing;
  const int on_node = out.devices / out.nodes;
  LS_USER_CHECK(!device.node_devices || on_node <= device.node_devices->value,
                "a node of {} holds {} devices, and {} ranks need {} on each; see "
                "distributed.simulated_nodes",
                device.name, device.node_devices->value, ranks, on_node);
  return out;
}

/// Ranks that share a device run their commands in turn, and add their gradients in its memory.
StepDurations shared(const StepDurations& alone, int ranks, const DeviceProfile& device) {
  if (ranks == 1) return alone;
  StepDurations out = slowed(alone, ranks);
  const double bytes_per_s =
      kBytesOfGb * device.memory_gb_per_s.value * device.memory_fraction.value;
  for (BucketDuration& bucket : out.buckets)  // reads all, and writes one sum
    bucket.all_reduce_ns += to_ns((ranks + 1) * static_cast<double>(bucket.bytes) / bytes_per_s);
  return out;
}

/// The limits of what such a rank does are those of its part of the device.
ProgramCosts shared(ProgramCosts costs, int ranks) {
  for (std::vector<BundleCost>* const bundles : {&costs.gradient, &costs.update})
    for (BundleCost& each : *bundles) each = {ranks * each.seconds, ranks * each.lower_bound};
  costs.dispatch *= ranks;
  costs.sums *= ranks;
  return costs;
}

/// Those of a rank; an evaluation may differ, which no duration depends on.
std::int64_t micro_batches_of(const BatchConfig& batch, int ranks) {
  if (batch.global_batch_size == 0 || batch.micro_batch_size == 0) return 1;
  return std::max<std::int64_t>(batch.global_batch_size / (batch.micro_batch_size * ranks), 1);
}

/// A target that is not this machine; its buckets are the run's.
CompileOptions for_unknown_kernels(const CompileOptions& options) {
  CompileOptions out;
  out.buckets = options.buckets;
  out.activity = options.activity;
  out.host_functions = options.host_functions;
  out.unknown_kernels = true;
  return out;
}

/// That of its dots and convolutions: bf16 if any is.
DType product_dtype(const std::vector<KernelWork>& heavy) {
  const bool bf16 =
      std::ranges::any_of(heavy, [](const KernelWork& each) { return each.dtype == DType::kBF16; });
  return bf16 ? DType::kBF16 : DType::kF32;
}

}  // namespace

void take_memory_of_profile(LoadedConfig& config) {
  DeviceConfig& device = config.config.device;
  if (device.profile.empty() || config.origins.contains("device.memory_gb")) return;
  if (device_name(device.profile) == kThisMachine) return;
  device.memory_gb = find_device(device.profile).memory_gib.value /
                     static_cast<double>(config.config.distributed.simulated_ranks_per_device);
}

struct DeviceTimes::Planning {
  Planning(const Config& config_, const Settings& settings, const Topology& topology,
           const CompileOptions& options_, Log& log_)
      : config(config_),
        device(find_device(config.device.profile, settings)),
        deployment(deployment_of(config, topology, device)),
        rank(topology.rank()),
        sharing(static_cast<int>(config.distributed.simulated_ranks_per_device)),
        options(for_unknown_kernels(options_)),
        log(log_),
        kernels(options.target, log),
        micro_batches(micro_batches_of(config.batch, topology.size())) {}

  SimulatedDevices simulated_devices() const {
    const int ranks = deployment.devices * sharing;
    return {.ranks = ranks, .on_node = ranks / deployment.nodes, .on_device = sharing};
  }

  const Config& config;
  DeviceProfile device;
  Deployment deployment;
  int rank;
  int sharing;  ///< ranks of a device
  CompileOptions options;
  Log& log;
  KernelCache kernels;
  UpdatePlans updates;
  std::int64_t micro_batches;
  std::mutex mutex;
  /// Of the config's programs that were asked for, for a ledger. One that took the memory of a
  /// program that is gone also took its entry.
  std::map<const CompiledStep*, StepTime> times;

  /// With the math type for products of that type.
  Deployment multiplying(DType dtype) const {
    Deployment out = deployment;
    out.math = math_type_of(dtype, device);
    return out;
  }
  StepPlacement placement_of(DType dtype) const {
    return calibrated_placement(config, multiplying(dtype), dtype, micro_batches);
  }
};

DeviceTimes::DeviceTimes(const Config& config, const Settings& settings, const Topology& topology,
                         const CompileOptions& options, Log& log)
    : planning_(std::make_unique<Planning>(config, settings, topology, options, log)) {}

DeviceTimes::~DeviceTimes() = default;

StepDurations DeviceTimes::of(const CompiledStep& step) {
  Planning& p = *planning_;
  const DType dtype = product_dtype(heavy_kernels(step.step));
  if (p.device.calibrated)
    return step_cost(step, *p.device.calibrated, p.placement_of(dtype)).durations;
  StepWork work = work_of(*compile_step(step.step, p.options, p.kernels, p.updates, p.log));
  work.micro_batches = static_cast<double>(p.micro_batches);
  StepTime time = step_time(work, p.device, p.multiplying(dtype), fitted_constants().constants);
  StepDurations out = shared(time.durations, p.sharing, p.device);
  if (p.config.profile.ledger) {
    const std::lock_guard lock(p.mutex);
    p.times.insert_or_assign(&step, std::move(time));
  }
  return out;
}

ProgramCosts DeviceTimes::costs_of(const CompiledStep& step) const {
  Planning& p = *planning_;
  const DType dtype = product_dtype(heavy_kernels(step.step));
  if (p.device.calibrated)
    return costs_by_limits(step, *p.device.calibrated, p.placement_of(dtype));
  const StepTime time = [&] {
    const std::lock_guard lock(p.mutex);
    const auto found = p.times.find(&step);
    LS_CHECK(found != p.times.end(), "the time of a program was not asked for");
    return found->second;
  }();
  const Deployment deployment = p.multiplying(dtype);
  const DeviceRates rates(p.device, deployment, fitted_constants().constants);
  return shared(costs_by_rates(step, time, p.micro_batches, rates), p.sharing);
}

VirtualClockOptions DeviceTimes::clock_options() const {
  const Config& config = planning_->config;
  VirtualClockOptions out;
  out.stream = {
      .queue_depth = static_cast<int>(config.device.queue_depth),
      .loader_workers = static_cast<int>(std::max<std::int64_t>(config.data.loader_workers, 1)),
      .prefetch = std::max<std::int64_t>(config.data.loader_prefetch_size, 1),
      .device_prefetch = std::max<std::int64_t>(config.data.device_prefetch_size, 1)};
  out.host = config.device.host;
  const DeviceProfile& device = planning_->device;
  if (device.host_link_gb_per_s)
    out.host_link_bytes_per_s = device.host_link_gb_per_s->value * kBytesOfGb;
  const DType dtype = config.training.precision == Precision::kFp32 ? DType::kF32 : DType::kBF16;
  out.rank = planning_->rank;
  out.disturbances =
      parse_disturbances(config.device.simulate, static_cast<std::uint64_t>(config.run.seed),
                         planning_->simulated_devices());
  if (const auto peak = device.peak(math_type_of(dtype, device)))
    out.peak_flops = *peak / planning_->sharing;
  return out;
}

const std::string& DeviceTimes::name() const {
  return planning_->device.name;
}

std::string DeviceTimes::describe() const {
  const Deployment& d = planning_->deployment;
  const int sharing = planning_->sharing;
  return fmt::format("{}: {} simulated device{} on {} node{}{}, device.host.time {}",
                     planning_->device.name, d.devices, d.devices == 1 ? "" : "s", d.nodes,
                     d.nodes == 1 ? "" : "s",
                     sharing == 1 ? "" : fmt::format(", {} ranks a device", sharing),
                     name_of(planning_->config.device.host.time));
}

}  // namespace lockstep
