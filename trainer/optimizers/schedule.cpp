#include "trainer/optimizers/schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// From 1 at x = 0 to 0 at x = 1.
double half_cosine(double x) {
  return (1.0 + std::cos(std::numbers::pi * x)) / 2.0;
}

double cooldown(CooldownShape shape, double x) {
  switch (shape) {
    case CooldownShape::kLinear: return 1.0 - x;
    case CooldownShape::kCosine: return half_cosine(x);
    case CooldownShape::kOneMinusSqrt: return 1.0 - std::sqrt(x);
  }
  __builtin_unreachable();
}

/// The steps of wsd in which the rate falls.
std::int64_t cooldown_steps(const SchedulerConfig& scheduler, std::int64_t decay_steps) {
  constexpr std::int64_t kPart = 10;
  return scheduler.cooldown_steps != 0 ? scheduler.cooldown_steps
                                       : (decay_steps + kPart - 1) / kPart;
}

}  // namespace

Schedule::Schedule(const SchedulerConfig& scheduler, double learning_rate, std::int64_t total_steps)
    : config_(scheduler),
      peak_(learning_rate),
      decay_steps_(scheduler.decay_steps == 0 ? total_steps : scheduler.decay_steps) {
  LS_USER_CHECK(std::ranges::adjacent_find(config_.milestones, std::ranges::greater_equal()) ==
                    config_.milestones.end(),
                "the milestones of a schedule must be in ascending order");
}

double Schedule::learning_rate(std::int64_t step) const {
  const auto s = static_cast<double>(step);
  if (config_.name == SchedulerName::kOneCycle) return one_cycle(s);
  const auto warmup = static_cast<double>(config_.warmup_steps);
  if (step < config_.warmup_steps) return peak_ * (s + 1) / warmup;
  switch (config_.name) {
    case SchedulerName::kConstant:
    case SchedulerName::kPlateau: return peak_;
    case SchedulerName::kInverseSqrt: return inverse_sqrt(s - warmup);
    case SchedulerName::kStep: return after_milestones(step);
    case SchedulerName::kLinear:
    case SchedulerName::kCosine:
    case SchedulerName::kPolynomial:
    case SchedulerName::kWsd: return decayed(step);
    case SchedulerName::kOneCycle: break;  // above
  }
  __builtin_unreachable();
}

double Schedule::one_cycle(double step) const {
  const double first = peak_ / config_.div_factor;
  const double last = first / config_.final_div_factor;
  const double top = config_.pct_start * static_cast<double>(decay_steps_) - 1;
  const double end = static_cast<double>(decay_steps_) - 1;
  if (top > 0 && step <= top) return peak_ + (first - peak_) * half_cosine(step / top);
  if (step >= end) return last;
  const double begin = std::max(top, 0.0);
  return last + (peak_ - last) * half_cosine((step - begin) / (end - begin));
}

double Schedule::inverse_sqrt(double since_warmup) const {
  constexpr double kTimescale = 10'000;
  const std::int64_t given = config_.timescale != 0 ? config_.timescale : config_.warmup_steps;
  const double timescale = given != 0 ? static_cast<double>(given) : kTimescale;
  return peak_ * std::sqrt(timescale / (timescale + since_warmup));
}

double Schedule::after_milestones(std::int64_t step) const {
  const auto passed = std::ranges::upper_bound(config_.milestones, step);
  return peak_ * std::pow(config_.gamma, static_cast<double>(passed - config_.milestones.begin()));
}

double Schedule::decayed(std::int64_t step) const {
  if (step >= decay_steps_) return config_.min_lr;
  std::int64_t begin = config_.warmup_steps;
  if (config_.name == SchedulerName::kWsd)
    begin = std::max(begin, decay_steps_ - cooldown_steps(config_, decay_steps_));
  if (step < begin) return peak_;
  const double x = static_cast<double>(step - begin) / static_cast<double>(decay_steps_ - begin);
  double remaining = 1.0 - x;
  if (config_.name == SchedulerName::kCosine) remaining = half_cosine(x);
  if (config_.name == SchedulerName::kPolynomial) remaining = std::pow(1.0 - x, config_.power);
  if (config_.name == SchedulerName::kWsd) remaining = cooldown(config_.cooldown_shape, x);
  return config_.min_lr + (peak_ - config_.min_lr) * remaining;
}

}  // namespace lockstep
