// How much of the time of a rank's cores computes, what the rest is spent on, and what would use
// more of it. From the records of a run, so that it can be said at its end and later.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/telemetry/record.h"

namespace lockstep {

/// Means over steps of rank 0; parts of the time of all its cores. What is missing to 1 is the time
/// of cores without a task while others computed.
struct CoreTimes {
  std::int64_t steps = 0;
  double seconds = 0;  ///< of all these steps
  double computing = 0;
  double waiting_for_ranks = 0;  ///< in all-reduces
  double waiting_for_host = 0;   ///< the device between two executions
  double waiting_for_data = 0;   ///< the host for the loader; a part of the time above, or hidden

  double without_task() const;
};

/// Sums records in order. The first one is left out: its steps compile.
class CoreTimesSum {
 public:
  /// Records without the measurements are ignored.
  void add(const TelemetryRecord& record);
  CoreTimes means() const;  ///< no steps: nothing was added

 private:
  std::int64_t last_step_ = -1;  ///< of a record
  CoreTimes sums_;
};

/// How the work of a step is divided.
struct CoreLayout {
  int threads = 1;  ///< of a rank
  int ranks = 1;
  std::int64_t micro_batch_size = 1;
  std::int64_t micro_batches = 1;  ///< of a rank
};

/// A line that says how much computes, what takes most of the rest, and the keys that change it.
/// Empty if 80 % computes, or if there is too little to judge: less than 20 steps or 2 seconds.
std::string core_advice(const CoreTimes& times, const CoreLayout& layout);

}  // namespace lockstep
