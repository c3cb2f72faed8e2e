// The fixed costs that occur once per command or event, independent of its size.
#pragma once

#include "core/ir/target.h"

namespace lockstep {

struct SmallCosts {
  double bundle_ns = 0;  ///< a command of a plan whose kernels have almost no work
  double clock_ns = 0;   ///< reading the clock
  double event_ns = 0;   ///< a span that feeds a metric and one listener
};

/// The minimum of several tries, each of `seconds`.
SmallCosts measure_small_costs(const Target& target, double seconds);

}  // namespace lockstep
