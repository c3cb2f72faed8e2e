// What the host's work takes in virtual time.
#pragma once

#include <cstdint>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

enum class HostTime : std::uint8_t {
  kMeasured,  ///< the CPU time of threads here, times a factor
  kNone,      ///< no time
  kStated,    ///< what HostCosts says
};

struct HostCosts {
  HostTime time = HostTime::kMeasured;
  double factor = 1;  ///< kMeasured
  // kStated:
  double step_ms = 0;     ///< records and hands over a training step
  double sample_ms = 0;   ///< a worker of the loader makes a sample
  double compile_ms = 0;  ///< a program that is not in memory yet
  double save_ms = 0;     ///< writes a checkpoint, while training goes on
};

}  // namespace lockstep
