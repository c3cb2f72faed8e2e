// Measures this machine: see core/ir/machine_limits.h for what is measured, and how.
#pragma once

#include "core/base/activity.h"
#include "core/ir/machine_limits.h"

namespace lockstep {

struct CalibrateOptions {
  Target target;           ///< whose kernels; oneDNN must have been limited to it
  int cores = 1;           ///< that may be used
  bool quick = false;      ///< one round of shorter measurements: for tests
  Activity activity = {};  ///< reports every measurement
};

/// Measures all limits but the sums over ranks. Everything is measured in three rounds a third of
/// the time apart, so that load which disturbs one round does not disturb the result: the best
/// round counts, and `spread` is the distance of the worst one. No round starts that would end
/// after 80 seconds.
MachineLimits measure_machine(const CalibrateOptions& options);

/// Describes figures that are measured now, by this build; the caller fills in `seconds`.
Calibration calibration_now(bool quick);

}  // namespace lockstep
