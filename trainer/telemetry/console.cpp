#include "trainer/telemetry/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/base/duration.h"

namespace lockstep {

std::string progress_line(const TelemetryRecord& record, std::int64_t total_steps,
                          double seconds_since_start) {
  std::string out = fmt::format("progress: {}", record.step);
  if (total_steps >= 0) out += fmt::format("/{}", total_steps);
  const auto add = [&](std::string_view name, const std::optional<double>& value, auto&& format) {
    if (value) out += fmt::format(", {}: {}", name, format(*value));
  };
  const auto with_digits = [](int digits) {
    return [digits](double x) { return format_significant(x, digits); };
  };
  for (const auto& [name, value] : loss_first(record.train))
    if (name != kLossLast) add("train/" + name, std::optional(value), with_digits(4));
  for (const auto& [name, value] : loss_first(record.evaluations))
    add(name, std::optional(value), with_digits(4));
  add("lr", record.learning_rate, with_digits(3));
  add("grad_norm", record.grad_norm, with_digits(3));
  add("ups", record.updates_per_s, with_digits(3));
  add("tok/s", record.tokens_per_s, format_rate);
  add("sim_step", record.sim_step_ms,
      [](double ms) { return fmt::format("{} ms", format_significant(ms, 3)); });
  out += fmt::format(", time_since_start: {}", format_time(seconds_since_start));
  if (total_steps >= 0 && record.updates_per_s && *record.updates_per_s > 0) {
    const double left = static_cast<double>(std::max<std::int64_t>(total_steps - record.step, 0));
    out += fmt::format(", eta: {}", format_time(left / *record.updates_per_s));
  }
  return out;
}

std::string format_significant(double x, int digits) {
  if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
  // Prints whole numbers in full, unless they have too many digits to read.
  if (std::fabs(x) >= std::pow(10.0, digits) && std::fabs(x) < 1e9) return fmt::format("{:.0f}", x);
  return fmt::format("{:.{}g}", x, digits);
}

std::string format_rate(double x) {
  constexpr std::string_view kSuffixes[] = {"", "k", "M", "G", "T"};
  std::size_t i = 0;
  // 999.5 would print as 1000.
  while (std::fabs(x) >= 999.5 && i + 1 < std::size(kSuffixes)) {
    x /= 1000;
    ++i;
  }
  return format_significant(x, 3) + std::string(kSuffixes[i]);
}

}  // namespace lockstep
