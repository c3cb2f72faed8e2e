// A job of many devices by simulation, in one thread: each rank's stream by the event rule, all of
// them at one link. Hosts and inputs are never late.
#pragma once

#include <cstdint>
#include <vector>

#include "core/virtual_time/disturbances.h"
#include "core/virtual_time/step_durations.h"

namespace lockstep {

struct SimulatedJob {
  StepDurations step;
  std::int64_t micro_batches = 1;
  int ranks = 1;
  Disturbances disturbances = {};
};

/// The time from the end of a step to that of the next one, when the last rank has ended it, of the
/// steps 0, 1, ... `steps`.
std::vector<std::int64_t> simulate_steps(const SimulatedJob& job, std::int64_t steps);

}  // namespace lockstep
