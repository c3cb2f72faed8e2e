// What a plan costs, by class of work. The counts are the plan's; the times come from whoever has
// them: a clock that looked at every launch, the limits of a machine, a simulator of another.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "core/ir/machine_limits.h"
#include "core/runtime/plan.h"

namespace lockstep {

/// Seconds of the launch that begins with command `first` of a plan.
using LaunchSeconds = std::function<double(const Plan& plan, std::size_t first)>;

/// All commands of the launch together, as machine_limits.h counts work. A function on the host is
/// the copies of its operands and results: what it computes, only it knows.
Work launch_work(const Plan& plan, std::size_t first);

/// The least that a rank needs on a machine with these limits. `limits` must outlive the result.
LaunchSeconds attainable_launches(const MachineLimits& limits, BusyCores cores);

struct WorkCost {
  std::size_t launches = 0;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;  ///< read and written
};
using CostByClass = std::array<WorkCost, kWorkClassCount>;

/// Of all launches of one run of the plan, by the class of their commands.
CostByClass cost_by_class(const Plan& plan, const LaunchSeconds& seconds);

}  // namespace lockstep
