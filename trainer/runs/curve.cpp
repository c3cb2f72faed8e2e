#include "trainer/runs/curve.h"

#include <map>

namespace lockstep {

std::vector<std::pair<std::string, Curve>> curves_of(const std::vector<TelemetryRecord>& metrics,
                                                     std::size_t max_curves) {
  std::vector<std::pair<std::string, Curve>> out;
  std::map<std::string, std::size_t> index;
  for (const TelemetryRecord& record : metrics)
    for (const auto& [name, value] : fields_of(record)) {
      const auto [place, is_new] = index.try_emplace(name, out.size());
      if (is_new && out.size() == max_curves) continue;
      if (is_new) out.emplace_back(name, Curve());
      if (place->second >= out.size()) continue;
      out[place->second].second.step.push_back(record.step);
      out[place->second].second.value.push_back(value);
    }
  return out;
}

Curve curve_of(const std::vector<TelemetryRecord>& metrics, std::string_view name) {
  Curve out;
  for (const TelemetryRecord& record : metrics)
    for (const auto& [field, value] : fields_of(record)) {
      if (field != name) continue;
      out.step.push_back(record.step);
      out.value.push_back(value);
    }
  return out;
}

}  // namespace lockstep
