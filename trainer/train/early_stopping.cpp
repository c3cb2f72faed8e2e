#include "trainer/train/early_stopping.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "trainer/registry/registry.h"

namespace lockstep {

EarlyStoppingConfig with_mode(EarlyStoppingConfig config, const Registry& registry) {
  if (config.mode == BetterMetric::kAuto)
    config.mode =
        registry.larger_is_better(config.metric) ? BetterMetric::kMax : BetterMetric::kMin;
  return config;
}

EarlyStopping::EarlyStopping(EarlyStoppingConfig config, TrainerState& progress, SettingsOf of)
    : config_(std::move(config)), progress_(progress), of_(of) {
  LS_CHECK(config_.mode != BetterMetric::kAuto, "whether {} should fall or rise is not decided",
           config_.metric);
}

std::string EarlyStopping::begin() {
  const std::string mode(name_of(config_.mode));
  const std::string before = std::exchange(progress_.best_metric_name, config_.metric);
  const std::string mode_before = std::exchange(progress_.best_metric_mode, mode);
  const bool is_other = before != config_.metric || mode_before != mode;
  if (!is_other || progress_.early_stopping.best_step < 0) return "";
  const std::string news = fmt::format(
      "early_stopping uses {} ({}) from now on: the best value so far, {:.6g} of step {}, is of {} "
      "({}) and is discarded",
      config_.metric, mode, progress_.best_metric, progress_.early_stopping.best_step,
      before.empty() ? "an unknown metric" : before, mode_before.empty() ? "?" : mode_before);
  progress_.best_metric = std::numeric_limits<double>::quiet_NaN();
  progress_.early_stopping = {};
  return news;
}

bool EarlyStopping::is_always_given() const {
  return config_.metric == "eval/loss";
}

double EarlyStopping::value_in(const Evaluation& evaluation) const {
  constexpr std::string_view kPrefix = "eval/";
  const std::string name = config_.metric.substr(std::min(config_.metric.size(), kPrefix.size()));
  const bool is_there = config_.metric.starts_with(kPrefix) && evaluation.names.contains(name);
  if (!is_there) {
    std::vector<std::string> names;
    names.reserve(evaluation.names.size());
    for (const std::string& one : evaluation.names)
      names.push_back(fmt::format("{}{}", kPrefix, one));
    raise(ErrorKind::kUsage, "{} is '{}', but the evaluation has no such metric; it has {}",
          setting_name(of_, "early_stopping.metric"), config_.metric, fmt::join(names, ", "));
  }
  const auto found = evaluation.metrics.find(name);
  return found == evaluation.metrics.end() ? std::numeric_limits<double>::quiet_NaN()
                                           : found->second;
}

bool EarlyStopping::improves(double value) const {
  const double best = progress_.best_metric;
  if (std::isnan(value)) return false;
  if (std::isnan(best)) return true;
  return config_.mode == BetterMetric::kMin ? value < best - config_.min_delta
                                            : value > best + config_.min_delta;
}

EarlyStopping::Verdict EarlyStopping::add(std::int64_t step, const Evaluation& evaluation) {
  const double value = value_in(evaluation);
  if (improves(value)) {
    progress_.best_metric = value;
    progress_.early_stopping = {step, 0};
    return Verdict::kBest;
  }
  ++progress_.early_stopping.bad_evaluations;
  if (ends_ || config_.patience == 0 || bad_evaluations() < config_.patience)
    return Verdict::kWorse;
  ends_ = true;
  return Verdict::kEnds;
}

}  // namespace lockstep
