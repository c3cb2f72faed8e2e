// The time of a step on this machine: its own kernels, command by command (core/runtime/step_cost).
#pragma once

#include "trainer/foresee/foresee.h"

namespace lockstep {

/// The step of a run that was planned for this machine, on a calibrated device. The limits' share
/// of a part stands as what the data sheet gives, the rest as fitted. Error kUsage for what
/// lockstep does not do here: other software, divided state, types that the config does not have,
/// several nodes without a network.
StepTime calibrated_time(const ForeseenStep& step, const LoadedConfig& config,
                         const DeviceProfile& device, const DeployedStep& deployed);

}  // namespace lockstep
