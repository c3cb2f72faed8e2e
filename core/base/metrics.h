// Counters and sampled metrics, and the report that prints them. Thread-safe. The owner of the run
// creates one instance per process and passes it down; there is no global registry.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"

namespace lockstep {

/// The unit of a sample; decides how the report prints it.
enum class Unit : std::uint8_t { kNanoseconds, kBytes };

/// The state of one sampled metric. Percentiles come from the last kWindow samples; the totals
/// cover all of them.
struct MetricData {
  static constexpr std::size_t kWindow = 1024;
  Unit unit = Unit::kNanoseconds;
  std::int64_t samples = 0;
  double accumulator = 0;
  struct Sample {
    std::int64_t at_ns;
    double value;
  };
  std::deque<Sample> window;
};

class Metrics {
 public:
  explicit Metrics(const Clock& clock) : clock_(clock) {}

  void count(std::string_view counter, std::int64_t by = 1);
  void sample(std::string_view metric, double value, Unit unit = Unit::kNanoseconds);

  std::int64_t counter(std::string_view name) const;  ///< 0 if never counted
  MetricData metric(std::string_view name) const;     ///< empty if never sampled
  double total(std::string_view metric) const;        ///< of all samples

  /// All metrics sorted by name, then all counters sorted by name.
  std::string report() const;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t, std::less<>> counters_;
  std::map<std::string, MetricData, std::less<>> metrics_;
};

/// A duration as the report prints it, every part truncated: "27s920ms153.731us", "092ms152.037us",
/// "059.120us", "1h02m03s004ms005.006us". Parts below the leading one are zero-padded; a time below
/// one second starts with its milliseconds, one below a millisecond with its microseconds. Negative
/// values and NaN print as zero, values beyond 64 bits as the largest.
std::string format_duration(double nanoseconds);

/// Sizes as the report prints them: "512.00B", "1.50KiB", "2.25GiB" (powers of 1024, truncated).
std::string format_bytes(double bytes);

}  // namespace lockstep
