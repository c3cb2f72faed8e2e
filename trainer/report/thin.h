// Makes long series as short as a screen needs, without losing their peaks.
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

/// Indices of at most `max_points` (>= 4) values, ascending: the first, the last, and of each of
/// equally long ranges the smallest and the largest. Values that are not finite do not count; a
/// range without finite ones keeps its first. All indices if there are no more than `max_points`.
std::vector<std::size_t> thinned(const std::vector<double>& values, std::size_t max_points);

}  // namespace lockstep
