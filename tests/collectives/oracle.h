// The results of collectives, computed serially: the operands of every rank are functions of (seed,
// rank, element), so that each rank can compute the result by itself.
#pragma once

#include <cmath>
#include <cstdint>
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
    const double unit = static_cast<double>(bits >> 11) * 0x1.0p-53 + 0.5;
    const int exponent = static_cast<int>(bits & 15) - 8;
    return static_cast<T>(std::ldexp((bits & 16) != 0 ? unit : -unit, exponent));
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

/// The sum of element k over ranks, in tree order; integers wrap around.
template <class T>
T serial_sum(std::uint64_t seed, int ranks, std::int64_t k) {
  return tree_reduce(
      0, ranks, [&](std::int64_t rank) { return operand<T>(seed, static_cast<int>(rank), k); },
      [](T a, T b) {
        if constexpr (std::is_floating_point_v<T>) {
          return a + b;
        } else {
          using U = std::make_unsigned_t<T>;
          return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
        }
      });
}

template <class T>
std::vector<T> serial_sums(std::uint64_t seed, int ranks, std::int64_t count) {
  std::vector<T> out(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) {
    out[static_cast<std::size_t>(k)] = serial_sum<T>(seed, ranks, k);
  }
  return out;
}

}  // namespace lockstep
