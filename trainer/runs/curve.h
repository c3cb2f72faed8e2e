// The measurements of a run as curves over its steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/telemetry/record.h"

namespace lockstep {

struct Curve {
  std::vector<std::int64_t> step = {};
  std::vector<double> value = {};  ///< as many; NaN where it was not finite
};

/// The values of each measurement, by its name in metrics.jsonl, in order of first appearance; of
/// the first `max_curves` names.
std::vector<std::pair<std::string, Curve>> curves_of(const std::vector<TelemetryRecord>& metrics,
                                                     std::size_t max_curves);

/// Those of one name; empty if there are none.
Curve curve_of(const std::vector<TelemetryRecord>& metrics, std::string_view name);

}  // namespace lockstep
