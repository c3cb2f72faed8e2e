#include "core/base/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lockstep {
namespace {

constexpr std::array<int, 9> kPercentiles = {1, 5, 10, 20, 50, 80, 90, 95, 99};

std::string format_value(double value, Unit unit) {
  switch (unit) {
    case Unit::kNanoseconds: return format_duration(value);
    case Unit::kBytes: return format_bytes(value);
  }
  __builtin_unreachable();
}

/// Nearest-rank percentile of sorted values; non-decreasing in `percent` by construction.
double percentile(const std::vector<double>& sorted, int percent) {
  const auto rank = (static_cast<std::size_t>(percent) * sorted.size() + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void report_metric(const std::string& name, const MetricData& data, std::string& out) {
  out += fmt::format("Metric: {}\n  TotalSamples: {}\n  Accumulator: {}\n", name, data.samples,
                     format_value(data.accumulator, data.unit));
  double window_sum = 0;
  std::vector<double> sorted;
  for (const auto& sample : data.window) {
    window_sum += sample.value;
    sorted.push_back(sample.value);
  }
  std::sort(sorted.begin(), sorted.end());
  const double seconds =
      static_cast<double>(data.window.back().at_ns - data.window.front().at_ns) * 1e-9;
  if (seconds > 0) {
    out += fmt::format("  ValueRate: {} / second\n  Rate: {:.6g} / second\n",
                       format_value(window_sum / seconds, data.unit),
                       static_cast<double>(data.window.size()) / seconds);
  }
  out += "  Percentiles:";
  for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
    out += fmt::format("{} {}%={}", i == 0 ? "" : ";", kPercentiles[i],
                       format_value(percentile(sorted, kPercentiles[i]), data.unit));
  }
  out += "\n";
}

}  // namespace

void Metrics::count(std::string_view counter, std::int64_t by) {
  const std::lock_guard lock(mutex_);
  const auto it = counters_.find(counter);
  if (it == counters_.end()) {
    counters_.emplace(std::string(counter), by);
  } else {
    it->second += by;
  }
}

void Metrics::sample(std::string_view metric, double value, Unit unit) {
  const std::int64_t now = clock_.now_ns();
  const std::lock_guard lock(mutex_);
  auto it = metrics_.find(metric);
  if (it == metrics_.end()) it = metrics_.emplace(std::string(metric), MetricData{}).first;
  MetricData& data = it->second;
  data.unit = unit;
  data.samples += 1;
  data.accumulator += value;
  data.window.push_back({now, value});
  if (data.window.size() > MetricData::kWindow) data.window.pop_front();
}

std::int64_t Metrics::counter(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto it = counters_.find(name);
  return it == counters_.end() ? 0 : it->second;
}

double Metrics::total(std::string_view metric) const {
  const std::lock_guard lock(mutex_);
  const auto found = metrics_.find(metric);
  return found == metrics_.end() ? 0 : found->second.accumulator;
}

MetricData Metrics::metric(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto it = metrics_.find(name);
  return it == metrics_.end() ? MetricData{} : it->second;
}

std::string Metrics::report() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [name, data] : metrics_) report_metric(name, data, out);
  for (const auto& [name, value] : counters_) {
    out += fmt::format("Counter: {}\n  Value: {}\n", name, value);
  }
  return out;
}

std::string format_duration(double nanoseconds) {
  // The order of the operands sends NaN to zero; 2^63 is the first double that does not fit.
  nanoseconds = std::max(0.0, nanoseconds);
  auto ns = nanoseconds < 0x1p63 ? static_cast<std::int64_t>(nanoseconds)
                                 : std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMicro = 1'000;
  constexpr std::int64_t kMilli = 1'000'000;
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::string out;
  const std::int64_t total_seconds = ns / kSecond;
  const std::int64_t days = total_seconds / 86'400;
  const std::int64_t hours = total_seconds / 3'600 % 24;
  const std::int64_t minutes = total_seconds / 60 % 60;
  const std::int64_t seconds = total_seconds % 60;
  // Each part is printed once a larger one was, padded to its width.
  const auto part = [&out](std::int64_t value, int width, const char* suffix) {
    if (out.empty() && value == 0) return;
    out += out.empty() ? fmt::format("{}{}", value, suffix)
                       : fmt::format("{:0{}}{}", value, width, suffix);
  };
  part(days, 1, "d");
  part(hours, 2, "h");
  part(minutes, 2, "m");
  part(seconds, 2, "s");
  ns %= kSecond;
  if (!out.empty() || ns >= kMilli) out += fmt::format("{:03}ms", ns / kMilli);
  ns %= kMilli;
  return out + fmt::format("{:03}.{:03}us", ns / kMicro, ns % kMicro);
}

std::string format_bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f}{}", std::floor(bytes * 100) / 100, kUnits[unit]);
}

}  // namespace lockstep
