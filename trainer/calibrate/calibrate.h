// Measures this machine: see core/ir/machine_limits.h for what is measured, and how.
#pragma once

#include "core/base/activity.h"
#include "core/ir/machine_limits.h"

namespace lockstep {

struct CalibrateOptions {
  Target target;           ///< whose kernels; oneDNN must have been limited to it
  int cores = 1;           ///< that may be used
  bool quick = false;      ///< one round of shorter measurements: for tests
  Activity activity = {};  ///< told of every measurement
};

/// All but the sums over ranks. Everything is measured in three rounds a third of the time apart,
/// so that who disturbs a round does not disturb the result: the best counts, and `spread` tells
/// how far off the worst was. No round is begun that would end after 80 seconds.
MachineLimits measure_machine(const CalibrateOptions& options);

/// Figures that are measured now, by this build; `seconds` is to be filled in.
Calibration calibration_now(bool quick);

}  // namespace lockstep
