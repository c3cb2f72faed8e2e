// The cost of a plan, by class of work. The counts come from the plan; the times come from a
// caller's function: measurements of every bundle, the limits of a machine, or a simulator.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "core/ir/machine_limits.h"
#include "core/runtime/plan.h"

namespace lockstep {

/// Seconds of the bundle that begins with command `first` of a plan.
using BundleSeconds = std::function<double(const Plan& plan, std::size_t first)>;

/// All commands of the bundle together, as machine_limits.h counts work. For a function on the host
/// only the copies of its operands and results count, as its own work is unknown.
Work bundle_work(const Plan& plan, std::size_t first);

/// A lower bound on a rank's time on a machine with these limits. `limits` must outlive the result.
BundleSeconds lower_bounds_of_bundles(const MachineLimits& limits, BusyCores cores);

struct WorkCost {
  std::size_t bundles = 0;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;  ///< read and written
};
using CostByClass = std::array<WorkCost, kWorkClassCount>;

/// The cost of all bundles of one run of the plan, by the class of their commands.
CostByClass cost_by_class(const Plan& plan, const BundleSeconds& seconds);

}  // namespace lockstep
