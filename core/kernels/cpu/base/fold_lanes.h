// Reduces the lanes of a vector by folding its halves onto each other: in one order, in registers.
// `S` is that of the loops of one instruction set: Vector and kWidth.
#pragma once

#include <utility>

namespace lockstep {

/// Each lane's value from the one `kHalf` away.
template <int kHalf, class Vector, int... kLane>
[[gnu::always_inline]] inline Vector swap_halves(Vector x, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(x, x, (kLane ^ kHalf)...);
}

template <class S, int kHalf = S::kWidth / 2, class F>
[[gnu::always_inline]] inline float fold_lanes(typename S::Vector x, const F& combine) {
  x = combine(x, swap_halves<kHalf>(x, std::make_integer_sequence<int, S::kWidth>{}));
  if constexpr (kHalf > 1) {
    return fold_lanes<S, kHalf / 2>(x, combine);
  } else {
    return x[0];
  }
}

template <class S>
[[gnu::always_inline]] inline float add_lanes(typename S::Vector x) {
  using Vector = typename S::Vector;
  return fold_lanes<S>(x, [](const Vector& a, const Vector& b) { return a + b; });
}

template <class S>
[[gnu::always_inline]] inline float largest_lane(typename S::Vector x) {
  using Vector = typename S::Vector;
  return fold_lanes<S>(x, [](const Vector& a, const Vector& b) { return a > b ? a : b; });
}

}  // namespace lockstep
