#include "trainer/report/readable_bytes.h"

#include <fmt/format.h>

#include <array>

namespace lockstep {

std::string readable_bytes(double bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  const int decimals = bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", bytes, decimals, kUnits[unit]);
}

}  // namespace lockstep
