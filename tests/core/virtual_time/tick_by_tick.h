// The oracle of the event rule: a whole job advanced tick by tick, each part a small machine that
// looks at what the others have done. It shares no code with core/virtual_time but its structs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/virtual_time/event_rule.h"

namespace lockstep {

/// What one rank does in a step.
struct OracleStep {
  StepDurations durations;
  std::int64_t micro_batches = 1;
  std::int64_t host_ns = 0;   ///< work before it takes the batch
  std::int64_t trace_ns = 0;  ///< work between that and the hand-over
  std::int64_t fetch_ns = 0;
  std::int64_t copy_ns = 0;
  std::int64_t reads_step = -1;  ///< before its work the host reads a value of that step; -1: none
};

/// The times of each step on each rank. `steps[rank][step]`; all ranks have as many steps, with as
/// many buckets.
std::vector<std::vector<StepTimes>> run_tick_by_tick(
    const StreamOptions& options, const std::vector<std::vector<OracleStep>>& steps);

}  // namespace lockstep
