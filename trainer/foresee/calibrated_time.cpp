#include "trainer/foresee/calibrated_time.h"

#include <algorithm>

#include "trainer/apps/from_config.h"
#include "trainer/devices/calibrated_step.h"

namespace lockstep {

StepTime calibrated_time(const ForeseenStep& step, const LoadedConfig& config,
                         const DeviceProfile& device, const DeployedStep& deployed) {
  const StepPlacement placement = calibrated_placement(
      config.config, deployed.deployment, compute_dtype(config.config.training.precision),
      static_cast<std::int64_t>(deployed.work.micro_batches));
  const StepCost cost = step_cost(*step.run.step, *device.calibrated, placement);
  StepTime out;
  const auto add = [&](std::string_view name, double seconds, double limit) {
    if (seconds > 0) out.parts.push_back({name, seconds, std::min(limit, seconds), 0});
  };
  for (std::size_t i = 0; i < cost.work.size(); ++i)
    add(name_of(static_cast<WorkClass>(i)), cost.work[i], cost.bounds[i].seconds);
  add("gradient sums", cost.sums, 0);
  add("exposed communication", cost.exposed, cost.exposed);
  add("dispatch", cost.overhead, 0);
  add("waits for other ranks", cost.waits, 0);
  out.seconds = cost.seconds;
  out.durations = cost.durations;
  out.all_reduce_seconds = cost.all_reduce;
  out.exposed_seconds = cost.exposed;
  out.flops = cost.flops;
  if (const auto peak = device.peak(deployed.deployment.math))
    out.utilization = out.flops / out.seconds / *peak;
  return out;
}

}  // namespace lockstep
