// The console line, in the manner of mmf:
//   progress: 1550/5000, train/loss: 2.314, lr: 0.00054, grad_norm: 0.81, ups: 7.69, tok/s: 126k,
//   time_since_start: 3m 31s, eta: 7m 29s
#pragma once

#include <cstdint>
#include <string>

#include "trainer/telemetry/record.h"

namespace lockstep {

/// `total_steps` < 0: unknown, so neither a total nor an eta is printed. Values that the record
/// does not have are left out.
std::string progress_line(const TelemetryRecord& record, std::int64_t total_steps,
                          double seconds_since_start);

/// `digits` significant digits, trailing zeros dropped, an exponent only below 1e-4: 2.314,
/// 0.00054, 1e-05, 12346, nan, inf.
std::string format_significant(double x, int digits);

/// Three significant digits with a suffix: 950, 12.6k, 126k, 1.26M, 3.4G.
std::string format_rate(double x);

}  // namespace lockstep
