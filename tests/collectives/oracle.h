// The results of collectives, computed serially: the operands of every rank are functions of (seed,
// rank, element), so that each rank can compute the result by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/hash.h"
#include "core/base/reduce_tree.h"

namespace lockstep {

/// Element k of rank `rank`. Floats have magnitudes from 2^-8 to 2^8 and both signs, so that a sum
/// in another order has other bits; integers use all their bits.
template <class T>
T operand(std::uint64_t seed, int rank, std::int64_t k) {
  const std::uint64_t bits =
      hash64({seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(k)});
  if constexpr (std::is_floating_point_v<T>) {
    constexpr double kScales[] = {0x1p-8, 0x1p-7, 0x1p-6, 0x1p-5, 0x1p-4, 0x1p-3, 0x1p-2, 0x1p-1,
                                  0x1p0,  0x1p1,  0x1p2,  0x1p3,  0x1p4,  0x1p5,  0x1p6,  0x1p7};
    const double unit = static_cast<double>(bits >> 11) * 0x1.0p-53 + 0.5;
    return static_cast<T>(((bits & 16) != 0 ? unit : -unit) * kScales[bits & 15]);
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
std::vector<T> operands(std::uint64_t seed, int rank, std::int64_t count) {
  std::vector<T> out(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) {
    out[static_cast<std::size_t>(k)] = operand<T>(seed, rank, k);
  }
  return out;
}

/// Integers wrap around.
template <class T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
}

/// The sums of the operands of these ranks, in tree order.
template <class T>
std::vector<T> tree_sums(std::uint64_t seed, std::span<const int> ranks, std::int64_t count) {
  return tree_reduce(
      0, static_cast<std::int64_t>(ranks.size()),
      [&](std::int64_t i) { return operands<T>(seed, ranks[static_cast<std::size_t>(i)], count); },
      [](std::vector<T> a, const std::vector<T>& b) {
        std::transform(a.begin(), a.end(), b.begin(), a.begin(), wrapping_sum<T>);
        return a;
      });
}

/// Those of all ranks.
template <class T>
std::vector<T> serial_sums(std::uint64_t seed, int ranks, std::int64_t count) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return tree_sums<T>(seed, all, count);
}

}  // namespace lockstep
