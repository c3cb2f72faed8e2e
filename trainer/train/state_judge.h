// Judges which states of a run are good: training can continue from them. The loss of a step is
// that of the state before its update, so a state is judged by the next step, or by its evaluation,
// and always relative to the run's own history:
//
//   level     the lowest loss that two steps in a row did not exceed: one lucky batch has no effect
//   spread    of the last 64 losses: their median |second difference|, which is 0 for a steady
//             fall, over 0.6745 sqrt(6), which makes it the standard deviation of normal noise; its
//             minimum since there were 16 losses, so that losses that swing more and more do not
//             raise their own limit
//   slack     max(7 % of the level, 3 spreads); the level is a little above the run's best loss,
//             and together they should stay below 10 %
//
// Losses that exceed the level by more than max(level, 6 spreads) are not added to the history.
//
// A state is in doubt if the next step has a loss or a gradient norm that is not finite; a loss
// that exceeds the level, or the lower of the two losses before it, by more than the slack; or a
// gradient norm 10 times the largest so far of steps with a normal loss. An evaluated state is
// judged by its evaluation only: its loss may be 10 % above the lowest of the run's evaluations,
// and one that is the best by the watched metric is good.
//
// A state in doubt costs only a file: the newest good checkpoint is kept until there is a newer
// one. In a converged run with large normal noise (a quarter of the loss), 80 % of the states are
// good after 100 steps, 54 % after 1000, 27 % after 10,000 (simulated): the longer the run, the
// lower are the level and the minimum spread. With noise of 1 % of the loss, no state is in doubt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checkpoint/state.h"

namespace lockstep {

/// The numbers of a step.
struct StepEvidence {
  double loss = 0;
  double grad_norm = 0;
};

/// Why the state before the step is in doubt; empty: it is not. `losses`: of the previous steps.
std::string doubt_of(const LossHistory& losses, const StepEvidence& step);
void add_step(LossHistory& losses, const StepEvidence& step);

/// The same for an evaluation's loss.
std::string doubt_of_evaluation(const LossHistory& losses, double loss);
void add_evaluation(LossHistory& losses, double loss);

/// Judges a run's states. Every rank has the same numbers, and so gets the same judgements.
class StateJudge {
 public:
  /// Updates good_step, confirmation and losses of `progress`, which outlives it.
  explicit StateJudge(TrainerState& progress) : progress_(progress) {}

  /// The state of `step` was evaluated; `is_best` by the watched metric.
  void add_evaluation(std::int64_t step, double loss, bool is_best);
  /// Judges the saved state of `step`, before its file is written: by its evaluation, or else by
  /// the next step, if there is one yet; with neither it is open, or in doubt if the last saves
  /// were. Returns a message for the user, once, when several states in a row are in doubt; else
  /// "".
  std::string settle(std::int64_t step, const std::optional<StepEvidence>& next);
  /// Adds a finished step.
  void add_step(const StepEvidence& step) { lockstep::add_step(progress_.losses, step); }

 private:
  struct Evaluated {
    std::int64_t step;
    std::string doubt;
  };
  TrainerState& progress_;
  std::optional<Evaluated> evaluated_;
  int doubts_ = 0;  ///< in a row
};

}  // namespace lockstep
