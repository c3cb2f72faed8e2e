#include "trainer/train/plateau.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr const char* kScale = "plateau_scale";
constexpr const char* kBest = "plateau_best";
constexpr const char* kBad = "plateau_bad_evaluations";
constexpr const char* kCooldown = "plateau_cooldown";

std::optional<double> value_of(const ScheduleState& saved, const char* name) {
  const auto found = saved.values.find(name);
  return found == saved.values.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

Plateau::Plateau(const SchedulerConfig& config, BetterMetric better, double peak,
                 const ScheduleState& saved)
    : config_(config),
      better_(better),
      lowest_scale_(peak > 0 ? std::min(config.min_lr / peak, 1.0) : 1.0) {
  if (config_.name != SchedulerName::kPlateau || saved.name != name_of(config_.name)) return;
  scale_ = value_of(saved, kScale).value_or(1);
  best_ = value_of(saved, kBest);
  bad_evaluations_ = static_cast<std::int64_t>(value_of(saved, kBad).value_or(0));
  cooldown_ = static_cast<std::int64_t>(value_of(saved, kCooldown).value_or(0));
}

bool Plateau::improves(double value) const {
  LS_CHECK(better_ != BetterMetric::kAuto, "whether the metric should fall or rise is open");
  if (std::isnan(value)) return false;
  if (!best_) return true;
  return better_ == BetterMetric::kMin ? value < *best_ * (1 - config_.threshold)
                                       : value > *best_ * (1 + config_.threshold);
}

bool Plateau::add(double value) {
  if (config_.name != SchedulerName::kPlateau) return false;
  if (improves(value)) {
    best_ = value;
    bad_evaluations_ = 0;
  } else {
    ++bad_evaluations_;
  }
  if (cooldown_ > 0) {
    --cooldown_;
    bad_evaluations_ = 0;
  }
  if (bad_evaluations_ <= config_.patience) return false;
  cooldown_ = config_.cooldown;
  bad_evaluations_ = 0;
  const double before = std::exchange(scale_, std::max(scale_ * config_.factor, lowest_scale_));
  return scale_ < before;
}

void Plateau::note(ScheduleState& state) const {
  if (config_.name != SchedulerName::kPlateau) return;
  state.values[kScale] = scale_;
  state.values[kBad] = static_cast<double>(bad_evaluations_);
  state.values[kCooldown] = static_cast<double>(cooldown_);
  if (best_) state.values[kBest] = *best_;
}

}  // namespace lockstep
