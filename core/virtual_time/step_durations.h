// What the parts of a step take on the device that a rank stands for: a cost source fills this in
// (core/cost for a device profile, core/runtime/step_cost for this machine), and the event rule
// (event_rule.h) tells from it when everything begins and ends. All is in whole nanoseconds,
// rounded once, so that times add up exactly and do not depend on the order of additions.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace lockstep {

inline std::int64_t to_ns(double seconds) {
  return std::llround(seconds * 1e9);
}
inline double seconds_of(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

struct BucketDuration {
  /// From the begin of the last micro-batch until its last gradient is complete.
  std::int64_t ready_ns = 0;
  std::int64_t all_reduce_ns = 0;
  // Of it, what links within nodes and between them take; the rest is latency. For links that get
  // slower.
  std::int64_t within_ns = 0;
  std::int64_t between_ns = 0;
  std::int64_t bytes = 0;  ///< that are all-reduced
};

struct StepDurations {
  std::int64_t micro_batch_ns = 0;  ///< a call of the gradient program
  std::int64_t sums_ns = 0;         ///< adds a micro-batch's gradients to those before it
  std::vector<BucketDuration> buckets;
  /// So many millionths of the time of all-reduces beside commands is what they cost the commands.
  std::int64_t interference_ppm = 0;
  /// So many millionths of the shorter of BucketDuration::within_ns and between_ns are not hidden
  /// by the longer one.
  std::int64_t both_levels_ppm = 0;
  std::int64_t update_ns = 0;
  std::int64_t waits_ns = 0;  ///< for other devices, which are not equally quick in every step
  double flops = 0;           ///< of dots, convolutions and attention, of all micro-batches
};

}  // namespace lockstep
