// What the little things cost that happen once per command or event, whatever they are about.
#pragma once

#include "core/ir/target.h"

namespace lockstep {

struct SmallCosts {
  double launch_ns = 0;  ///< a command of a plan, of kernels with next to nothing to do
  double clock_ns = 0;   ///< a look at the clock
  double event_ns = 0;   ///< a span that feeds a metric and one listener
};

/// The least of several tries, each of `seconds`.
SmallCosts measure_small_costs(const Target& target, double seconds);

}  // namespace lockstep
