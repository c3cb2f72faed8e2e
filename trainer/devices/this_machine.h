// The machine that this process runs on, as a device: what `lockstep calibrate` measured.
#pragma once

#include <string_view>

#include "core/base/settings.h"
#include "core/cost/device_profile.h"
#include "core/ir/machine_limits.h"
#include "trainer/settings/config.h"

namespace lockstep {

inline constexpr std::string_view kThisMachine = "this-machine";

/// A device is a rank with one thread; a node is the machine. Error kUsage if its training steps
/// were not measured.
DeviceProfile calibrated_device(const MachineLimits& limits);

/// From the file of this machine's limits, for the instruction sets that the process may use.
/// The threads of each of so many ranks on this host: those of the config; for kAutoThreads its
/// cores, divided among them.
int device_threads(const Config& config, int ranks);

DeviceProfile this_machine_device(const Settings& settings);

}  // namespace lockstep
