// How long the training steps of a config take on devices that are not here. Nothing runs and no
// tensor gets memory: the step is recorded and fused, and core/cost predicts its kernels' times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/given_steps.h"
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

/// Measured steps, by the name of their device.
using GivenSteps = std::map<std::string, std::vector<GivenStep>, std::less<>>;

/// Devices and software, as the command line names them.
struct ForeseeOptions {
  int per_node = 1;
  int nodes = 1;
  std::optional<MathType> math = std::nullopt;  ///< else training.precision, on this device
  Deployment deployment = {};                   ///< its devices, nodes and math are set here
  bool alternatives = false;       ///< plans other settings, too, even if the config's fit
  GivenSteps given = {};           ///< measured ones, by the device's name
  MaxIsa max_isa = MaxIsa::kAuto;  ///< of kernels of this machine
};

/// All but its type of products, which depends on the device.
Deployment deployment_of(const ForeseeOptions& options);

/// Neither time nor memory depends on the order of sums: any division of the batch will do.
Config in_any_order(Config config);

/// The step as the devices of a run do it.
struct DeployedStep {
  StepWork work;
  Deployment deployment;
  std::int64_t global_batch = 0;
};
/// Error kUsage for a batch that cannot be divided over the devices, or more devices than a node of
/// them holds.
DeployedStep deploy(const ForeseenStep& step, const LoadedConfig& config,
                    const DeviceProfile& device, const ForeseeOptions& options);

/// One prediction.
struct Foresight {
  std::string device;
  Deployment deployment;
  StepTime time;
  double low = 0, high = 0;  ///< seconds: 80 % of published times are to lie between them
  bool calibrated = false;   ///< the device is this machine: of its own measured steps
  double samples_per_s = 0;
  std::int64_t global_batch = 0;
  std::int64_t micro_batches = 0;  ///< of a device
  std::size_t given_steps = 0;     ///< that corrected the time, ...
  double given_factor = 1;         ///< ... by so much
};

/// The prediction, corrected by the given steps of this device. Error kUsage as above, and for a
/// type that the device lacks.
Foresight foresee(const ForeseenStep& step, const LoadedConfig& config, const DeviceProfile& device,
                  const ForeseeOptions& options);

/// The same on 1, 2, 4, ... devices of one node and then on 2, 4, ... nodes, up to the options';
/// those over which the batch cannot be divided are left out.
std::vector<Foresight> foresee_scaling(const ForeseenStep& step, const LoadedConfig& config,
                                       const DeviceProfile& device, const ForeseeOptions& options);

/// Of a whole run; 0 if its config has no end.
double run_hours(const ForeseenStep& step, const StepTime& time);

}  // namespace lockstep
