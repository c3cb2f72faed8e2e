// Device profiles: YAML files, checked as strictly as a config. Those of configs/devices are part
// of the program.
//
//   kind: gpu
//   sources:
//     sheet: "A100 data sheet, June 2021"
//   peak_tflops: {fp32: [19.5, sheet], bf16: [312, sheet]}
//   memory_gib: [80, sheet]
//   launch_us: {eager: [6, estimate], graph: [2.5, estimate], xla: [3, estimate]}
//
// Every figure stands with its source: a name of `sources`, or "estimate".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/settings.h"
#include "core/cost/device_profile.h"

namespace lockstep {

/// The keys of a profile, with their units, a line each: for help.
std::string device_profile_keys();

/// Error kUsage with a line for each problem, `file:line:column: what`.
DeviceProfile parse_device_profile(std::string_view text, const std::string& file,
                                   const std::string& name);

/// Those of configs/devices, by name.
const std::vector<DeviceProfile>& built_in_devices();

/// A built-in one by its name, in capitals or not, or that of the file `name` if it ends with
/// ".yaml". Error kUsage with a suggestion if there is none.
DeviceProfile find_device(const std::string& name);

/// The same, and "this-machine", of which `settings` say where its limits are.
DeviceProfile find_device(const std::string& name, const Settings& settings);

/// The name of the device that find_device() would return, with its error if there is none.
std::string device_name(const std::string& name);

}  // namespace lockstep
