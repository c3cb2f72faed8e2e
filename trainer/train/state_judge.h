// Which states of a run are good: from which training goes on well. The loss of a step is that of
// the state before its update, so a state is judged by the step that is made from it, or by its
// evaluation, and always against what the run itself has shown:
//
//   level     the lowest loss that two steps in a row did not pass: one lucky batch is not enough
//   spread    of the last 64 losses: their median |second difference|, which a steady fall leaves
//             at 0, over 0.6745 sqrt(6), which makes it the standard deviation of normal noise; the
//             least that it has been since there were 16, so that losses that swing more and more
//             do not become the measure of themselves
//   slack     the larger of 7 % of the level (which itself is a little above the best of the run:
//             together they are to stay below 10 %) and 3 spreads
//
// Losses above the level by more than the larger of it and 6 spreads are not counted in.
//
// A state is in doubt if the step from it has a loss or a gradient norm that is not finite; a loss
// above the level by more than the slack, or above the lower of the two losses before it; or a
// gradient norm 10 times the largest so far of steps whose loss was in line. An evaluated state is
// judged by that alone: its loss may be 10 % above the lowest of the run's evaluations, and one
// that is the best by the watched metric is good.
//
// Doubt costs a file and nothing else: the newest good checkpoint stays until there is a newer one.
// Of a run that has settled, with losses of normal noise that is large (a quarter of them), 80 % of
// the states are good after 100 steps, 54 % after 1000, 27 % after 10,000 (simulated): the level of
// noise is the lower, and so is the least spread, the longer the run. With noise of 1 % of the
// loss, none is in doubt.
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

/// Why the state that the step was made from is in doubt; empty: it is not. `losses`: of the steps
/// before.
std::string doubt_of(const LossHistory& losses, const StepEvidence& step);
void add_step(LossHistory& losses, const StepEvidence& step);

/// The same of an evaluation's loss.
std::string doubt_of_evaluation(const LossHistory& losses, double loss);
void add_evaluation(LossHistory& losses, double loss);

/// Judges a run's states. Every rank sees the same numbers, and so comes to the same judgements.
class StateJudge {
 public:
  /// Of `progress`, which outlives it, good_step, confirmation and losses are kept.
  explicit StateJudge(TrainerState& progress) : progress_(progress) {}

  /// The state of `step` was evaluated; `is_best` by the watched metric.
  void add_evaluation(std::int64_t step, double loss, bool is_best);
  /// Settles what is known of the saved state of `step`, before its file is written: by its
  /// evaluation, or else by the step from it, if there is one yet; with neither it is open, or in
  /// doubt if the last saves were. Returns what to tell the user,
  /// once, when state after state is in doubt; else nothing.
  std::string settle(std::int64_t step, const std::optional<StepEvidence>& next);
  /// A step was made.
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
