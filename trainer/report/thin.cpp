#include "trainer/report/thin.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep {
namespace {

/// Appends the indices of the extremes of values [begin, end).
void add_extremes(const std::vector<double>& values, std::size_t begin, std::size_t end,
                  std::vector<std::size_t>& to) {
  std::size_t low = end, high = end;
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(values[i])) continue;
    if (low == end || values[i] < values[low]) low = i;
    if (high == end || values[i] > values[high]) high = i;
  }
  if (low == end) low = high = begin;
  to.push_back(std::min(low, high));
  if (low != high) to.push_back(std::max(low, high));
}

}  // namespace

std::vector<std::size_t> thinned(const std::vector<double>& values, std::size_t max_points) {
  std::vector<std::size_t> out;
  if (values.size() <= max_points) {
    out.resize(values.size());
    std::iota(out.begin(), out.end(), std::size_t{0});
    return out;
  }
  const std::size_t ranges = (max_points - 2) / 2;
  const std::size_t inner = values.size() - 2;
  out.push_back(0);
  for (std::size_t r = 0; r < ranges; ++r)
    add_extremes(values, 1 + r * inner / ranges, 1 + (r + 1) * inner / ranges, out);
  out.push_back(values.size() - 1);
  return out;
}

}  // namespace lockstep
