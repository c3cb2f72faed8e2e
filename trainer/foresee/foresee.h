// How long the training steps of a config take on devices that are not here. Nothing runs and no
// tensor gets memory: the step is recorded and fused, and core/cost predicts its kernels' times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/step_time.h"
#include "trainer/apps/run_memory.h"
#include "trainer/config/load.h"

namespace lockstep {

class Registry;

/// The step of a config with one micro-batch: it does not depend on devices.
struct ForeseenStep {
  StepWork work;            ///< of one micro-batch a step
  std::int64_t steps = 0;   ///< of the run; 0: the config does not say
  std::int64_t tokens = 0;  ///< of a sample; 0: it has none
  std::int64_t parameters = 0;
  PlannedRun run;
};

/// The step of a run that was planned for a device whose kernels are not known.
ForeseenStep foreseen_step(const Config& config, const PlannedRun& run);
/// Plans it, too. Error kUsage for a config that cannot be trained.
ForeseenStep foresee_step(const Config& config, const Registry& registry);

/// Devices and software, as the command line names them.
struct ForeseeOptions {
  int per_node = 1;
  int nodes = 1;
  std::optional<MathType> math = std::nullopt;  ///< else training.precision, on this device
  Deployment deployment = {};                   ///< its devices, nodes and math are set here
  bool alternatives = false;  ///< plans other settings, too, even if the config's fit
};

/// One prediction.
struct Foresight {
  std::string device;
  Deployment deployment;
  StepTime time;
  double low = 0, high = 0;  ///< seconds: 80 % of published times are to lie between them
  double samples_per_s = 0;
  std::int64_t global_batch = 0;
};

/// Error kUsage for a batch that cannot be divided over the devices, a type that the device lacks,
/// or more devices than a node of it holds.
Foresight foresee(const ForeseenStep& step, const LoadedConfig& config, const DeviceProfile& device,
                  const ForeseeOptions& options);

/// The same on 1, 2, 4, ... devices of one node and then on 2, 4, ... nodes, up to the options';
/// those over which the batch cannot be divided are left out.
std::vector<Foresight> foresee_scaling(const ForeseenStep& step, const LoadedConfig& config,
                                       const DeviceProfile& device, const ForeseeOptions& options);

/// The factor by which the 80 % interval of this time lies around it, from the fit's uncertainty:
/// [seconds / factor, seconds * factor].
double interval_factor(const StepWork& work, const DeviceProfile& device,
                       const Deployment& deployment, const FittedConstants& fitted);

/// Of a whole run; 0 if its config has no end.
double run_hours(const ForeseenStep& step, const StepTime& time);

}  // namespace lockstep
