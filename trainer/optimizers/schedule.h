// Learning rates: pure functions of the step, computed in double, so that a resumed run continues
// with exactly the rates it would have had.
//
// With peak = optimizer.learning_rate, w = scheduler.warmup_steps, d = scheduler.decay_steps (the
// length of the run if 0) and m = scheduler.min_lr, step s = 0, 1, ... runs with
//   s < w:            peak * (s + 1) / w                                  (linear warm-up)
//   constant:         peak
//   linear, cosine:   m + (peak - m) * f((s - w) / (d - w))  for s < d,  m from there on
//   linear f(x) = 1 - x;  cosine f(x) = (1 + cos(pi x)) / 2               (SGDR, Loshchilov &
//   Hutter)
// so the rate is the peak at step w and reaches m at step d.
//
// A range test has rates of its own, from low to high by the same factor in each of its n steps:
//   low * (high / low)^(s / (n - 1))
#pragma once

#include <cstdint>
#include <optional>

#include "trainer/settings/config.h"

namespace lockstep {

/// The rates of a range test.
struct RateRange {
  double low = 1e-7;         ///< > 0
  double high = 1;           ///< > low
  std::int64_t steps = 100;  ///< >= 2
};

class Schedule {
 public:
  /// `total_steps` replaces decay_steps if that is 0; only linear and cosine use it.
  Schedule(const SchedulerConfig& scheduler, double learning_rate, std::int64_t total_steps);
  explicit Schedule(const RateRange& range) : range_(range) {}

  /// The rate of the update in 0-based `step`.
  double learning_rate(std::int64_t step) const;

 private:
  SchedulerName name_ = SchedulerName::kConstant;
  double peak_ = 0;
  double min_lr_ = 0;
  std::int64_t warmup_steps_ = 0;
  std::int64_t decay_steps_ = 0;
  std::optional<RateRange> range_ = {};
};

}  // namespace lockstep
