#include "core/base/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace lockstep {

std::string format_time(double seconds) {
  constexpr double kLongest = 1e9;  // 31 years: an eta beyond is noise
  if (!std::isfinite(seconds)) seconds = kLongest;
  const auto s = static_cast<std::int64_t>(std::clamp(seconds, 0.0, kLongest));
  if (s >= 86400) {
    return fmt::format("{}d {}h {}m {}s", s / 86400, s / 3600 % 24, s / 60 % 60, s % 60);
  }
  if (s >= 3600) return fmt::format("{}h {}m {}s", s / 3600, s / 60 % 60, s % 60);
  if (s >= 60) return fmt::format("{}m {}s", s / 60, s % 60);
  return fmt::format("{}s", s);
}

std::string readable_time(double seconds) {
  struct Unit {
    const char* name;
    double seconds;
  };
  constexpr std::array<Unit, 4> kUnits = {{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  if (!(seconds > 0.5e-9)) return "0 s";
  for (const Unit& unit : kUnits) {
    const double x = seconds / unit.seconds;
    const double limit = unit.seconds == 1 ? 60 : 1000;
    const double tenths = std::round(x * 10) / 10;
    if (tenths < 10) return fmt::format("{:g} {}", tenths, unit.name);
    if (std::round(x) < limit) return fmt::format("{:.0f} {}", x, unit.name);
  }
  return format_time(std::max(seconds, 60.0));
}

}  // namespace lockstep
