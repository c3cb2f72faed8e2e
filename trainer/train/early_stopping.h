// Compares the evaluations of a run by one metric: which is the best so far (checkpoint.keep_best),
// and whether there were too many without improvement (early stopping). What it knows is in the
// run's counters, so that a resumed run goes on with it.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/state.h"
#include "trainer/settings/config.h"
#include "trainer/settings/setting_name.h"
#include "trainer/train/evaluate.h"

namespace lockstep {

class Registry;

/// The config with the mode that `auto` stands for (Registry::larger_is_better).
EarlyStoppingConfig with_mode(EarlyStoppingConfig config, const Registry& registry);

class EarlyStopping {
 public:
  enum class Verdict : std::uint8_t {
    kBest,   ///< the best so far
    kWorse,  ///< not better than the best
    kEnds,   ///< the same, and the run's patience is exhausted; given once
  };

  /// The mode of `config` is not kAuto. Updates best_metric, its name and mode, and early_stopping
  /// of `progress`, which outlives it. `of`: for messages.
  EarlyStopping(EarlyStoppingConfig config, TrainerState& progress,
                SettingsOf of = SettingsOf::kConfig);

  /// Watches the config's metric and mode from now on. If the best value is of another metric or
  /// mode, forgets it and the count of evaluations since then, and returns a line about it for the
  /// log; otherwise returns "".
  std::string begin();
  /// Whether every evaluation gives the metric.
  bool is_always_given() const;
  /// The value of the metric in an evaluation; NaN if its count was zero. Error kUsage that lists
  /// the existing metrics if the evaluation has no such metric.
  double value_in(const Evaluation& evaluation) const;
  /// Adds the evaluation of `step`.
  Verdict add(std::int64_t step, const Evaluation& evaluation);
  /// Whether the run should end.
  bool ends() const { return ends_; }
  /// The evaluations since the best one.
  std::int64_t bad_evaluations() const { return progress_.early_stopping.bad_evaluations; }

 private:
  /// Whether the value is better than the best by more than min_delta. A first value always is, NaN
  /// never.
  bool improves(double value) const;

  EarlyStoppingConfig config_;
  TrainerState& progress_;
  SettingsOf of_;
  bool ends_ = false;
};

}  // namespace lockstep
