// Durations for people to read: "22 ms", "3m 31s". The metrics report uses the format of
// PyTorch/XLA's report instead (metrics.h), so that both can be compared.
#pragma once

#include <string>

namespace lockstep {

/// Whole seconds: "0s", "59s", "3m 31s", "1h 0m 5s", "2d 3h 0m 0s".
std::string format_time(double seconds);

/// Two significant digits and one unit: "350 ns", "6.4 ms", "22 ms", "1.3 s"; values of three
/// digits print as whole numbers, and times from one minute on as whole seconds. Negative values
/// and NaN print as "0 s".
std::string readable_time(double seconds);
inline std::string readable_ns(double nanoseconds) {
  return readable_time(nanoseconds * 1e-9);
}

}  // namespace lockstep
