// What the host's work takes in virtual time.
#pragma once

#include <cstdint>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// Where the virtual time of the host's work comes from.
enum class HostTime : std::uint8_t {
  kMeasured,  ///< the CPU time of threads here, times a factor
  kNone,      ///< no time
  kStated,    ///< what HostCosts says
};

/// Keys of the section device.host: the host that a device of virtual time stands beside.
struct HostCosts {
  HostTime time = HostTime::kMeasured;  ///< where the other members count
  /// kMeasured: how much slower that host is than this one.
  double factor = 1;  ///< kMeasured
  // kStated:
  double step_ms = 0;     ///< records and hands over a training step
  double sample_ms = 0;   ///< a worker of the loader makes a sample
  double compile_ms = 0;  ///< a program that is not in memory yet
  double save_ms = 0;     ///< writes a checkpoint, while training goes on
};

}  // namespace lockstep
