// The cost of a plan, by class of work. The counts come from the plan; the times come from a
// caller's function: measurements of every launch, the limits of a machine, or a simulator.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "core/ir/machine_limits.h"
#include "core/runtime/plan.h"

namespace lockstep {

/// Seconds of the launch that begins with command `first` of a plan.
using LaunchSeconds = std::function<double(const Plan& plan, std::size_t first)>;

/// All commands of the launch together, as machine_limits.h counts work. For a function on the host
/// only the copies of its operands and results count, as its own work is unknown.
Work launch_work(const Plan& plan, std::size_t first);

/// A lower bound on a rank's time on a machine with these limits. `limits` must outlive the result.
LaunchSeconds attainable_launches(const MachineLimits& limits, BusyCores cores);

struct WorkCost {
  std::size_t launches = 0;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;  ///< read and written
};
using CostByClass = std::array<WorkCost, kWorkClassCount>;

/// The cost of all launches of one run of the plan, by the class of their commands.
CostByClass cost_by_class(const Plan& plan, const LaunchSeconds& seconds);

}  // namespace lockstep
