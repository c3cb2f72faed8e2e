#include "trainer/train/state_judge.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kRecent = 64;
constexpr std::size_t kEnough = 16;  ///< losses needed for the spread
constexpr double kPart = 0.07;       ///< of the level
constexpr double kSpreads = 3;
constexpr double kEvaluationPart = 0.1;
constexpr double kNormGrowth = 10;
constexpr int kDoubtsToTell = 3;  ///< fewer may be noise

/// The spread of the noise in a series of numbers that may rise or fall.
double spread_of(const std::vector<double>& row) {
  constexpr double kMedianOfNormal = 0.6745;
  if (row.size() < 4) return 0;  // two differences are too few
  std::vector<double> bends;
  for (std::size_t i = 2; i < row.size(); ++i)
    bends.push_back(std::abs(row[i] - 2 * row[i - 1] + row[i - 2]));
  const auto middle = bends.begin() + static_cast<std::ptrdiff_t>((bends.size() - 1) / 2);
  std::ranges::nth_element(bends, middle);
  return *middle / (kMedianOfNormal * std::sqrt(6.0));
}

/// How far a loss may exceed the level: to be normal, or to be added to the history at all.
struct Slack {
  double in_line;
  double counted;
};
Slack slack_of(const LossHistory& losses) {
  const bool is_known = std::isfinite(losses.least_spread);
  const double spread = kSpreads * (is_known ? losses.least_spread : spread_of(losses.recent));
  const double level = std::abs(losses.level);
  return {std::max(kPart * level, spread), std::max(level, 2 * spread)};
}

}  // namespace

std::string doubt_of(const LossHistory& losses, const StepEvidence& step) {
  if (!std::isfinite(step.loss) || !std::isfinite(step.grad_norm))
    return fmt::format("loss {:.4g} and gradient norm {:.3g} are not finite", step.loss,
                       step.grad_norm);
  if (losses.recent.empty()) return "";
  const double slack = slack_of(losses).in_line;
  if (step.loss > losses.level + slack)
    return fmt::format("the loss is {:.4g}, and was {:.4g}", step.loss, losses.level);
  const double last = losses.recent.back();
  const double before = std::min(last, losses.recent[std::max(losses.recent.size(), 2UL) - 2]);
  if (step.loss > before + slack)
    return fmt::format("the loss rose from {:.4g} to {:.4g}", before, step.loss);
  if (losses.largest_norm > 0 && step.grad_norm > kNormGrowth * losses.largest_norm)
    return fmt::format("the gradient norm is {:.3g}, and was {:.3g} at most", step.grad_norm,
                       losses.largest_norm);
  return "";
}

void add_step(LossHistory& losses, const StepEvidence& step) {
  if (!std::isfinite(step.loss) || !std::isfinite(step.grad_norm)) return;
  std::vector<double>& recent = losses.recent;
  const bool is_first = recent.empty();
  if (!is_first) {
    const Slack slack = slack_of(losses);
    if (step.loss > losses.level + slack.counted) return;
    if (step.loss <= losses.level + slack.in_line)
      losses.largest_norm = std::max(losses.largest_norm, step.grad_norm);
  } else {
    losses.largest_norm = step.grad_norm;
  }
  const double both = is_first ? step.loss : std::max(step.loss, recent.back());
  recent.push_back(step.loss);
  if (recent.size() > kRecent) recent.erase(recent.begin());
  if (is_first || recent.size() == 2 || both < losses.level) losses.level = both;
  if (recent.size() >= kEnough)
    losses.least_spread = std::min(losses.least_spread, spread_of(recent));
}

std::string doubt_of_evaluation(const LossHistory& losses, double loss) {
  const double lowest = losses.lowest_evaluation;
  if (!std::isfinite(loss)) return fmt::format("the evaluation's loss is {}", loss);
  if (std::isnan(lowest) || loss <= lowest + kEvaluationPart * std::abs(lowest)) return "";
  return fmt::format("the evaluation's loss is {:.4g}, and was {:.4g}", loss, lowest);
}

void add_evaluation(LossHistory& losses, double loss) {
  if (std::isfinite(loss) && !(loss >= losses.lowest_evaluation)) losses.lowest_evaluation = loss;
}

void StateJudge::add_evaluation(std::int64_t step, double loss, bool is_best) {
  evaluated_ = {step, is_best ? "" : doubt_of_evaluation(progress_.losses, loss)};
  lockstep::add_evaluation(progress_.losses, loss);
}

std::string StateJudge::settle(std::int64_t step, const std::optional<StepEvidence>& next) {
  progress_.confirmation = Confirmation::kOpen;
  std::string doubt;
  if (evaluated_ && evaluated_->step == step)
    doubt = evaluated_->doubt;
  else if (next)
    doubt = doubt_of(progress_.losses, *next);
  else {
    // If unknown, it gets the judgement of the previous ones.
    if (doubts_ >= kDoubtsToTell) progress_.confirmation = Confirmation::kDoubtful;
    return "";
  }
  if (doubt.empty()) {
    progress_.confirmation = Confirmation::kConfirmed;
    progress_.good_step = step;
    doubts_ = 0;
    return "";
  }
  progress_.confirmation = Confirmation::kDoubtful;
  if (++doubts_ != kDoubtsToTell) return "";
  return fmt::format(
      "step {}: {}: the state of step {} is the newest that is known to be good, and its "
      "checkpoint is kept",
      step, doubt, progress_.good_step);
}

}  // namespace lockstep
