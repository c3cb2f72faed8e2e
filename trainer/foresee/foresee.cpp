#include "trainer/foresee/foresee.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "trainer/apps/from_config.h"
#include "trainer/apps/run_planner.h"
#include "trainer/config/batch_plan.h"
#include "trainer/devices/step_work.h"
#include "trainer/foresee/calibrated_time.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

std::int64_t count_steps(const Config& config, std::int64_t samples) {
  std::int64_t out = config.length.max_steps;
  if (config.length.max_epochs >= 0) {
    const std::int64_t steps =
        config.length.max_epochs * (samples / config.batch.global_batch_size);
    out = out < 0 ? steps : std::min(out, steps);
  }
  return std::max<std::int64_t>(out, 0);
}

void check_topology(const DeviceProfile& device, const ForeseeOptions& options) {
  constexpr std::int64_t kMostDevices = 1 << 20;
  LS_USER_CHECK(std::int64_t{options.per_node} * options.nodes <= kMostDevices,
                "{} nodes of {} devices are more than {} devices", options.nodes, options.per_node,
                kMostDevices);
  LS_USER_CHECK(!device.node_devices || options.per_node <= device.node_devices->value,
                "a node of {} holds {} devices, and --devices-per-node is {}", device.name,
                device.node_devices->value, options.per_node);
}

void set_calibrated_time(StepTime time, const MachineLimits& limits, Foresight& out) {
  constexpr double kEightyPercent = 1.2816;  // standard deviations of a Gaussian
  const double interval = std::exp(kEightyPercent * limits.steps.deviation);
  out.low = time.seconds / interval;
  out.high = time.seconds * interval;
  out.time = std::move(time);
  out.calibrated = true;
}

void set_modelled_time(const DeployedStep& deployed, const DeviceProfile& device,
                       const ForeseeOptions& options, Foresight& out) {
  const FittedConstants& fitted = fitted_constants();
  out.time = step_time(deployed.work, device, deployed.deployment, fitted.constants);
  const auto found = options.given.find(device.name);
  const std::span<const GivenStep> given =
      found == options.given.end() ? std::span<const GivenStep>() : found->second;
  const Correction correction =
      correct(foreseen_time(deployed.work, device, deployed.deployment, fitted), given, fitted);
  out.time = scaled(out.time, correction.factor);
  out.given_steps = given.size();
  out.given_factor = correction.factor;
  out.low = out.time.seconds / correction.interval;
  out.high = out.time.seconds * correction.interval;
}

}  // namespace

ForeseenStep foreseen_step(const Config& config, const PlannedRun& run) {
  ForeseenStep out;
  out.work = work_of(*run.step);
  out.parameters = run.parameters;
  out.steps = count_steps(config, run.samples);
  out.tokens = run.tokens_per_sample;
  out.run = run;
  return out;
}

ForeseenStep foresee_step(const Config& config, const Registry& registry) {
  return foreseen_step(config, planner_for_unknown_device(config, registry).plan(config));
}

Deployment deployment_of(const ForeseeOptions& options) {
  Deployment out = options.deployment;
  out.nodes = options.nodes;
  out.devices = options.per_node * options.nodes;
  return out;
}

Config in_any_order(Config config) {
  config.batch.deterministic = false;
  return config;
}

DeployedStep deploy(const ForeseenStep& step, const LoadedConfig& config,
                    const DeviceProfile& device, const ForeseeOptions& options) {
  check_topology(device, options);
  DeployedStep out{step.work, deployment_of(options)};
  out.deployment.overlap = config.config.distributed.overlap;
  out.deployment.math = options.math
                            ? *options.math
                            : math_type_of(compute_dtype(config.config.training.precision), device);
  LoadedConfig any_order = config;
  any_order.config = in_any_order(config.config);
  const BatchPlan batch = plan_batch(any_order, out.deployment.devices);
  out.work.micro_batches = static_cast<double>(batch.micro_batches_per_rank);
  out.global_batch = batch.global_batch_size;
  return out;
}

Foresight foresee(const ForeseenStep& step, const LoadedConfig& config, const DeviceProfile& device,
                  const ForeseeOptions& options) {
  const DeployedStep deployed = deploy(step, config, device, options);
  Foresight out;
  out.device = device.name;
  out.deployment = deployed.deployment;
  if (device.calibrated)
    set_calibrated_time(calibrated_time(step, config, device, deployed), *device.calibrated, out);
  else
    set_modelled_time(deployed, device, options, out);
  out.global_batch = deployed.global_batch;
  out.micro_batches = std::llround(deployed.work.micro_batches);
  out.samples_per_s = static_cast<double>(deployed.global_batch) / out.time.seconds;
  return out;
}

std::vector<Foresight> foresee_scaling(const ForeseenStep& step, const LoadedConfig& config,
                                       const DeviceProfile& device, const ForeseeOptions& options) {
  std::vector<Foresight> out;
  const auto add = [&](int per_node, int nodes) {
    ForeseeOptions smaller = options;
    smaller.per_node = per_node;
    smaller.nodes = nodes;
    const bool last = per_node == options.per_node && nodes == options.nodes;
    if (last || !batch_problem({config.config.batch.global_batch_size,
                                config.config.batch.micro_batch_size, false},
                               std::int64_t{per_node} * nodes))
      out.push_back(foresee(step, config, device, smaller));
  };
  for (int n = 1; n < options.per_node; n *= 2) add(n, 1);
  for (int n = 1; n < options.nodes; n *= 2) add(options.per_node, n);
  add(options.per_node, options.nodes);
  return out;
}

double run_hours(const ForeseenStep& step, const StepTime& time) {
  constexpr double kHour = 3600;
  return static_cast<double>(step.steps) * time.seconds / kHour;
}

}  // namespace lockstep
