#include "trainer/optimizers/schedule.h"

#include <cmath>
#include <numbers>

namespace lockstep {

Schedule::Schedule(const SchedulerConfig& scheduler, double learning_rate, std::int64_t total_steps)
    : name_(scheduler.name),
      peak_(learning_rate),
      min_lr_(scheduler.min_lr),
      warmup_steps_(scheduler.warmup_steps),
      decay_steps_(scheduler.decay_steps == 0 ? total_steps : scheduler.decay_steps) {}

double Schedule::learning_rate(std::int64_t step) const {
  if (range_) {
    const double part = static_cast<double>(step) / static_cast<double>(range_->steps - 1);
    return range_->low * std::pow(range_->high / range_->low, part);
  }
  if (step < warmup_steps_) {
    return peak_ * static_cast<double>(step + 1) / static_cast<double>(warmup_steps_);
  }
  if (name_ == SchedulerName::kConstant) return peak_;
  if (step >= decay_steps_) return min_lr_;
  const double x =
      static_cast<double>(step - warmup_steps_) / static_cast<double>(decay_steps_ - warmup_steps_);
  const double remaining =
      name_ == SchedulerName::kLinear ? 1.0 - x : (1.0 + std::cos(std::numbers::pi * x)) / 2.0;
  return min_lr_ + (peak_ - min_lr_) * remaining;
}

}  // namespace lockstep
