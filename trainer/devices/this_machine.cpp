#include "trainer/devices/this_machine.h"

#include <algorithm>
#include <memory>

#include "core/base/cores.h"
#include "core/base/error.h"
#include "trainer/machine/limits_file.h"
#include "trainer/machine/machine.h"

namespace lockstep {
namespace {

constexpr double kTera = 1e-12;
constexpr double kGiga = 1e-9;
constexpr double kMicroPerNano = 1e-3;

/// Bytes a second of all cores, beyond the caches.
double memory_rate(const MachineLimits& limits) {
  double out = 0;
  std::int64_t largest = 0;
  for (const MemoryRate& row : limits.memory) largest = std::max(largest, row.working_set);
  for (const MemoryRate& row : limits.memory)
    if (2 * row.working_set > largest) out = std::max(out, row.triad_bytes_per_s);
  return out;
}

}  // namespace

DeviceProfile calibrated_device(const MachineLimits& limits) {
  LS_USER_CHECK(limits.calibration.measured && limits.steps.measured(),
                "the training steps of this machine were not measured: run `lockstep calibrate`, "
                "which takes three to six minutes");
  const std::string source = "lockstep calibrate, " + limits.calibration.date;
  const auto figure = [&](double value) { return Figure{value, source}; };
  DeviceProfile out;
  out.name = kThisMachine;
  out.kind = DeviceKind::kCpu;
  out.form = limits.machine.to_string();
  for (const auto& [math, dtype] :
       {std::pair{MathType::kFp32, DType::kF32}, {MathType::kBf16, DType::kBF16}})
    out.peak_tflops[static_cast<std::size_t>(math)] =
        figure(kTera * peak_flops_per_s(limits, dtype, {1, 1}));
  out.matmul_fraction = out.memory_fraction = figure(1);
  out.memory_gib = figure(static_cast<double>(available_memory()) / 0x1p30);
  out.memory_gb_per_s = figure(kGiga * memory_rate(limits));
  out.compute_units = figure(1);
  out.launch_us_eager = out.launch_us_graph = out.launch_us_xla =
      figure(kMicroPerNano * limits.bundle_ns);
  out.node_devices = figure(usable_cores());
  out.topology = "shared memory";
  out.calibrated = std::make_shared<MachineLimits>(limits);
  return out;
}

int device_threads(const Config& config, int ranks) {
  if (config.device.threads != kAutoThreads) return static_cast<int>(config.device.threads);
  return std::max(1, runnable_threads() / std::max(1, ranks));
}

DeviceProfile this_machine_device(const Settings& settings) {
  const FoundLimits found = find_limits(settings, host_target(settings.max_isa));
  if (!found.warning.empty()) raise(ErrorKind::kUsage, "{}", found.warning);
  return calibrated_device(found.limits);
}

}  // namespace lockstep
