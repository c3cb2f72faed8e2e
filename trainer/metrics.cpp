#include "trainer/metrics.h"

namespace lockstep {

std::vector<std::pair<std::string, double>> loss_first(const MetricValues& values) {
  std::vector<std::pair<std::string, double>> out;
  if (const auto loss = values.find("loss"); loss != values.end()) out.push_back(*loss);
  for (const auto& [name, value] : values)
    if (name != "loss") out.emplace_back(name, value);
  return out;
}

std::string Evaluator::partial(const HostBatch& /*outputs*/) const {
  return "";
}

}  // namespace lockstep
