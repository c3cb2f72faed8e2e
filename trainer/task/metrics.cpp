#include "trainer/task/metrics.h"

#include <algorithm>

namespace lockstep {

std::vector<std::pair<std::string, double>> loss_first(const MetricValues& values) {
  const auto is_loss = [](const std::string& name) {
    return name == "loss" || name == "eval/loss";
  };
  std::vector<std::pair<std::string, double>> out(values.begin(), values.end());
  std::stable_partition(out.begin(), out.end(),
                        [&](const auto& metric) { return is_loss(metric.first); });
  return out;
}

std::string Evaluator::partial(const HostBatch& /*outputs*/) const {
  return "";
}

}  // namespace lockstep
