// What the programs of a run take on the device that its ranks stand for (device.profile).
#pragma once

#include <memory>
#include <string>

#include "core/base/settings.h"
#include "core/base/topology.h"
#include "core/engine/compile.h"
#include "core/observe/program_costs.h"
#include "core/virtual_time/virtual_clock.h"
#include "trainer/config/load.h"

namespace lockstep {

class Log;

/// Sets device.memory_gb to the memory of device.profile if the config gives only the profile.
/// Error kUsage for a profile that is not known. Not for this machine, whose ranks share its
/// memory.
void take_memory_of_profile(LoadedConfig& config);

class DeviceTimes {
 public:
  /// For ranks that stand for devices, distributed.simulated_ranks_per_device for each, on
  /// distributed.simulated_nodes nodes or on those
  /// of `topology`. `options` are the run's. Error kUsage for a profile that is not known, ranks
  /// that cannot be divided over the nodes, or more than a node holds.
  DeviceTimes(const Config& config, const Settings& settings, const Topology& topology,
              const CompileOptions& options, Log& log);
  ~DeviceTimes();

  /// Error kUsage if the profile lacks the type of its products, or links between devices.
  StepDurations of(const CompiledStep& step);

  /// For the rows of a ledger: of a program that `of` was asked for, if the config asks for a
  /// ledger. From any thread.
  ProgramCosts costs_of(const CompiledStep& step) const;

  VirtualClockOptions clock_options() const;
  /// The device's.
  const std::string& name() const;
  /// "a100-sxm4-80gb: 4 simulated devices on 2 nodes, host.time none"
  std::string describe() const;

 private:
  struct Planning;
  std::unique_ptr<Planning> planning_;
};

}  // namespace lockstep
