// The machine that this process runs on, as a device: what `lockstep calibrate` measured.
#pragma once

#include <string_view>

#include "core/base/settings.h"
#include "core/cost/device_profile.h"
#include "core/ir/machine_limits.h"

namespace lockstep {

inline constexpr std::string_view kThisMachine = "this-machine";

/// A device is a rank with one thread; a node is the machine. Error kUsage if its training steps
/// were not measured.
DeviceProfile calibrated_device(const MachineLimits& limits);

/// From the file of this machine's limits, for the instruction sets that the process may use.
DeviceProfile this_machine_device(const Settings& settings);

}  // namespace lockstep
