// The operations of the loops of vector_loops.h on an element, for every type. Always inlined:
// sources of several instruction sets include this file, and an out-of-line copy could be linked
// into another.
#pragma once

#include <limits>
#include <type_traits>

#include "core/kernels/base/element_conversion.h"

namespace lockstep::element {

template <class V>
inline constexpr bool kIsFloating = std::is_floating_point_v<V>;

/// Integer arithmetic wraps: it is done unsigned (and in at least 32 bits, where promotion would
/// make it signed).
template <class V>
using Unsigned = std::conditional_t<(sizeof(V) < 4), std::uint32_t, std::make_unsigned_t<V>>;

struct Add {
  template <class V>
  [[gnu::always_inline]] static V apply(V a, V b) {
    if constexpr (kIsFloating<V>) {
      return a + b;
    } else {
      return static_cast<V>(static_cast<Unsigned<V>>(a) + static_cast<Unsigned<V>>(b));
    }
  }
};
struct Multiply {
  template <class V>
  [[gnu::always_inline]] static V apply(V a, V b) {
    if constexpr (kIsFloating<V>) {
      return a * b;
    } else {
      return static_cast<V>(static_cast<Unsigned<V>>(a) * static_cast<Unsigned<V>>(b));
    }
  }
};
struct Maximum {
  template <class V>
  [[gnu::always_inline]] static V apply(V a, V b) {
    return a > b || a != a ? a : b;
  }
};
struct Minimum {
  template <class V>
  [[gnu::always_inline]] static V apply(V a, V b) {
    return a < b || a != a ? a : b;
  }
};

/// The value of a visit_dtype type To nearest to x: floats to integers truncate and saturate, NaN
/// becomes 0; to bool is x != 0; wider integers to narrower ones wrap.
template <class To, class V>
[[gnu::always_inline]] inline Computed<To> convert(V x) {
  using R = Computed<To>;
  if constexpr (std::is_same_v<To, bool>) {
    return x != V{0} ? 1 : 0;
  } else if constexpr (kIsFloating<V> && !kIsFloating<R>) {
    // Powers of two are exact in V; the largest value below 2^digits can be cast.
    constexpr V kLow = static_cast<V>(std::numeric_limits<R>::min());
    constexpr V kHigh =
        static_cast<V>(std::uint64_t{1} << (std::numeric_limits<R>::digits - 1)) * V{2};
    const bool above = x >= kHigh;
    const V castable = x > kLow && !above ? x : kLow;  // NaN too, replaced below
    const R cast = static_cast<R>(castable);
    const R saturated = above ? std::numeric_limits<R>::max() : cast;
    return x != x ? R{0} : saturated;
  } else {
    return static_cast<R>(x);
  }
}

}  // namespace lockstep::element
