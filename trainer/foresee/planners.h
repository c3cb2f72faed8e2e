// What plans the steps of a config for the devices of a question.
#pragma once

#include <memory>

#include "trainer/apps/run_planner.h"
#include "trainer/foresee/foresee.h"

namespace lockstep {

/// A device of a profile gets plans for kernels that nobody knows, this machine those of its own.
class Planners {
 public:
  Planners(const Config& config, const Registry& registry, MaxIsa max_isa)
      : config_(config), registry_(registry), max_isa_(max_isa) {}

  /// Opens the data of the config when it is first asked for. It may plan changes of the config
  /// that have the same data.
  RunPlanner& of(const DeviceProfile& device) {
    std::unique_ptr<RunPlanner>& planner = device.calibrated ? here_ : elsewhere_;
    if (planner == nullptr)
      planner.reset(new RunPlanner(device.calibrated
                                       ? planner_for_this_machine(config_, registry_, max_isa_)
                                       : planner_for_unknown_device(config_, registry_)));
    return *planner;
  }

 private:
  const Config& config_;
  const Registry& registry_;
  MaxIsa max_isa_;
  std::unique_ptr<RunPlanner> here_, elsewhere_;
};

}  // namespace lockstep
