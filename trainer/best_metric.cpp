#include "trainer/best_metric.h"

#include <fmt/ranges.h>

#include <cmath>
#include <limits>
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

double watched_metric(const EarlyStoppingConfig& config, const MetricValues& metrics, bool needed) {
  if (const auto found = metrics.find(config.metric); found != metrics.end()) return found->second;
  if (!needed) return std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics) names.push_back(name);
  raise(ErrorKind::kUsage,
        "early_stopping.metric is '{}', but the evaluation gave no such metric; it gave {}",
        config.metric, fmt::join(names, ", "));
}

bool improves(const EarlyStoppingConfig& config, double value, double best) {
  if (std::isnan(value)) return false;
  if (std::isnan(best)) return true;
  return less_is_better(config) ? value < best - config.min_delta : value > best + config.min_delta;
}

}  // namespace lockstep
