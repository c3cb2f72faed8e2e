#include "trainer/train/best_metric.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace lockstep {
namespace {

bool less_is_better(const EarlyStoppingConfig& config) {
  switch (config.mode) {
    case BetterMetric::kMin: return true;
    case BetterMetric::kMax: return false;
    case BetterMetric::kAuto:
      return config.metric.ends_with("loss") || config.metric.ends_with("perplexity");
  }
  __builtin_unreachable();
}

}  // namespace

bool is_always_given(std::string_view metric) {
  return metric == "eval/loss";
}

double watched_metric(const EarlyStoppingConfig& config, const Evaluation& evaluation) {
  constexpr std::string_view kPrefix = "eval/";
  const std::string name = config.metric.substr(std::min(config.metric.size(), kPrefix.size()));
  const bool is_there = config.metric.starts_with(kPrefix) && evaluation.names.contains(name);
  if (!is_there) {
    std::vector<std::string> names;
    for (const std::string& one : evaluation.names)
      names.push_back(fmt::format("{}{}", kPrefix, one));
    raise(ErrorKind::kUsage,
          "early_stopping.metric is '{}', but the evaluation has no such metric; it has {}",
          config.metric, fmt::join(names, ", "));
  }
  const auto found = evaluation.metrics.find(name);
  return found == evaluation.metrics.end() ? std::numeric_limits<double>::quiet_NaN()
                                           : found->second;
}

bool improves(const EarlyStoppingConfig& config, double value, double best) {
  if (std::isnan(value)) return false;
  if (std::isnan(best)) return true;
  return less_is_better(config) ? value < best - config.min_delta : value > best + config.min_delta;
}

std::string begin_watching(const EarlyStoppingConfig& config, TrainerState& progress) {
  const std::string mode = less_is_better(config) ? "min" : "max";
  const std::string before = std::exchange(progress.best_metric_name, config.metric);
  const std::string mode_before = std::exchange(progress.best_metric_mode, mode);
  const bool is_other = before != config.metric || mode_before != mode;
  if (!is_other || progress.early_stopping.best_step < 0) return "";
  const std::string news = fmt::format(
      "early_stopping uses {} ({}) from now on: the best value so far, {:.6g} of step {}, is of {} "
      "({}) and is discarded",
      config.metric, mode, progress.best_metric, progress.early_stopping.best_step,
      before.empty() ? "an unknown metric" : before, mode_before.empty() ? "?" : mode_before);
  progress.best_metric = std::numeric_limits<double>::quiet_NaN();
  progress.early_stopping = {};
  return news;
}

}  // namespace lockstep
