// The schedule "plateau": the learning rate falls when evaluations no longer improve. It is the one
// schedule that is no function of the step: what it knows is in the run's counters, so that a
// resumed run goes on with it, and comes from evaluations, which are equal on all ranks.
//
// The rule is PyTorch's ReduceLROnPlateau with a relative threshold. The watched metric and whether
// it should fall or rise are those of early_stopping. An evaluation is better than the best so far
// if it is below best * (1 - threshold), or above best * (1 + threshold); after more than
// `patience` others in a row the rate is multiplied by `factor`, down to min_lr, and the next
// `cooldown` evaluations are not counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checkpoint/state.h"
#include "trainer/settings/config.h"

namespace lockstep {

class Plateau {
 public:
  /// Goes on with what `saved` knows, if it is of a plateau. `better`: not kAuto; `peak`: the rate
  /// without any fall. With another schedule than plateau it never changes the rate.
  Plateau(const SchedulerConfig& config, BetterMetric better, double peak,
          const ScheduleState& saved);

  /// What the rate of a step is multiplied by: 1, or less.
  double scale() const { return scale_; }
  /// Adds an evaluation's value of the metric, which may be NaN. True if the rate falls.
  bool add(double value);
  /// Adds what it knows to the state of the schedule.
  void note(ScheduleState& state) const;

 private:
  bool improves(double value) const;

  SchedulerConfig config_;
  BetterMetric better_;
  double lowest_scale_;
  double scale_ = 1;
  std::optional<double> best_;  ///< nothing before the first evaluation
  std::int64_t bad_evaluations_ = 0;
  std::int64_t cooldown_ = 0;  ///< evaluations left of it
};

}  // namespace lockstep
