// Iterates over several tensors together, index by index.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/shape.h"

namespace lockstep::reference {

/// Where the elements of a walk lie in a tensor: index (i0, i1, ...) is at
/// start + i0 * strides[0] + i1 * strides[1] + ...
struct Strided {
  std::vector<std::int64_t> strides;
  std::int64_t start = 0;
};

/// Calls visit(offset in view 0, offset in view 1, ...) for every index of `shape` in row-major
/// order. Offsets advance like an odometer: additions only.
template <std::size_t N, class Visit>
void for_each_index(const Shape& shape, const std::array<Strided, N>& views, const Visit& visit) {
  if (shape.elements() == 0) return;
  const std::span<const std::int64_t> sizes = shape.sizes();
  std::vector<std::int64_t> index(sizes.size(), 0);
  std::array<std::int64_t, N> at;
  for (std::size_t v = 0; v < N; ++v) at[v] = views[v].start;
  while (true) {
    std::apply([&](auto... offsets) { visit(static_cast<std::size_t>(offsets)...); }, at);
    std::size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1]) {
      --d;
      index[d] = 0;
      for (std::size_t v = 0; v < N; ++v) at[v] -= (sizes[d] - 1) * views[v].strides[d];
    }
    if (d == 0) return;
    for (std::size_t v = 0; v < N; ++v) at[v] += views[v].strides[d - 1];
  }
}

}  // namespace lockstep::reference
