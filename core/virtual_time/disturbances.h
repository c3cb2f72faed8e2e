// What makes the devices of a job unequal, to rehearse it: a rank that is slower for a while,
// jitter of all. Counter-based, so that every step can be had again from the seed.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/virtual_time/step_durations.h"

namespace lockstep {

/// The commands of this rank take `slow` times as long in these steps.
struct SlowRank {
  int rank = 0;
  double slow = 1;
  std::int64_t first_step = 0;
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  friend bool operator==(const SlowRank&, const SlowRank&) = default;
};

struct Disturbances {
  std::vector<SlowRank> slow_ranks;
  /// The commands of a rank take exp(jitter x) times as long in a step, x drawn from a standard
  /// normal distribution for each rank and step.
  double jitter = 0;
  std::uint64_t seed = 0;

  bool empty() const { return slow_ranks.empty() && jitter == 0; }
};

/// By what the commands of a rank take longer in a step.
double slowdown(const Disturbances& disturbances, int rank, std::int64_t step);

/// The step with commands that take `factor` times as long; all-reduces take as long as before.
StepDurations slowed(const StepDurations& step, double factor);

}  // namespace lockstep
