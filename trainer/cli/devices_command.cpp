#include <ostream>

#include "trainer/cli/commands.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/devices/this_machine.h"
#include "trainer/machine/limits_file.h"

namespace lockstep {
namespace {

int run_devices(const CommandCall& call) {
  const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  const auto optional = [&](const std::optional<Figure>& figure) {
    return figure ? number(figure->value) : std::string("-");
  };
  const auto peak = [&](const DeviceProfile& device, MathType type) {
    return optional(device.peak_tflops[static_cast<std::size_t>(type)]);
  };
  const auto line = [&](const std::string& name, const std::string& kind, const std::string& fp32,
                        const std::string& tf32, const std::string& bf16, const std::string& fp16,
                        const std::string& memory, const std::string& bandwidth,
                        const std::string& link, const std::string& form) {
    call.out << fmt::format("{:<22} {:<4} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}  {}\n", name,
                            kind, fp32, tf32, bf16, fp16, memory, bandwidth, link, form);
  };
  line("", "", "TFLOP/s", "", "", "", "memory", "", "link", "");
  line("device", "kind", "fp32", "tf32", "bf16", "fp16", "GiB", "GB/s", "GB/s", "form");
  std::vector<DeviceProfile> devices = built_in_devices();
  const MachineLimits limits =
      find_limits(call.settings, host_target(call.settings.max_isa)).limits;
  if (limits.steps.measured()) devices.push_back(calibrated_device(limits));
  for (const DeviceProfile& device : devices)
    line(device.name, std::string(name_of(device.kind)), peak(device, MathType::kFp32),
         peak(device, MathType::kTf32), peak(device, MathType::kBf16),
         peak(device, MathType::kFp16), number(device.memory_gib.value),
         number(device.memory_gb_per_s.value), optional(device.node_link_gb_per_s), device.form);
  return 0;
}

}  // namespace

CliCommand devices_command() {
  return {
      .name = "devices",
      .positionals = {},
      .help = "list the devices whose steps `lockstep foresee` predicts",
      .details =
          "A profile of your own is a YAML file; those of configs/devices are examples. "
          "Its keys,\neach a number with its source, [312, sheet], where `sources` says "
          "what the sheet is:\n" +
          device_profile_keys() +
          "After `lockstep calibrate` the list has this-machine, too, with what was measured.\n",
      .exits = {3},
      .run = run_devices};
}

}  // namespace lockstep
