// What the elementwise ops of one operand do to an element, for every type they accept. Always
// inlined, see vector_math.h.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/kernels/cpu/storage.h"
#include "core/kernels/cpu/vector_math.h"
#include "core/kernels/cpu/vector_math_wide.h"

namespace lockstep::element {

template <class V>
inline constexpr bool kIsFloating = std::is_floating_point_v<V>;

/// Integer arithmetic wraps: it is done unsigned (and in at least 32 bits, where promotion would
/// make it signed).
template <class V>
using Unsigned = std::conditional_t<(sizeof(V) < 4), std::uint32_t, std::make_unsigned_t<V>>;

struct Negate {
  template <class V>
  [[gnu::always_inline]] static V apply(V x) {
    if constexpr (kIsFloating<V>) {
      return -x;
    } else {
      return static_cast<V>(Unsigned<V>{0} - static_cast<Unsigned<V>>(x));
    }
  }
};
struct Abs {
  template <class V>
  [[gnu::always_inline]] static V apply(V x) {
    if constexpr (kIsFloating<V>) {
      return std::abs(x);
    } else {
      return x < 0 ? Negate::apply(x) : x;
    }
  }
};
struct Sign {
  template <class V>
  [[gnu::always_inline]] static V apply(V x) {
    return x > V{0} ? V{1} : x < V{0} ? static_cast<V>(-1) : x;
  }
};
struct IsFinite {
  template <class V>
  [[gnu::always_inline]] static std::uint8_t apply(V x) {
    return std::abs(x) < std::numeric_limits<V>::infinity() ? 1 : 0;
  }
};
struct BitNot {
  template <class V>
  [[gnu::always_inline]] static V apply(V x) {
    return static_cast<V>(~x);
  }
};
struct LogicalNot {
  [[gnu::always_inline]] static std::uint8_t apply(std::uint8_t x) {
    return static_cast<std::uint8_t>(x ^ 1U);
  }
};

// f32 has its own vectorizable functions; f64 is for oracles and takes libm's.
struct Exp {
  [[gnu::always_inline]] static float apply(float x) { return vector_math::exp(x); }
  [[gnu::always_inline]] static double apply(double x) { return std::exp(x); }
};
struct Log {
  [[gnu::always_inline]] static float apply(float x) { return vector_math::log(x); }
  [[gnu::always_inline]] static double apply(double x) { return std::log(x); }
};
struct Tanh {
  [[gnu::always_inline]] static float apply(float x) { return vector_math::tanh(x); }
  [[gnu::always_inline]] static double apply(double x) { return std::tanh(x); }
};
struct Erf {
  [[gnu::always_inline]] static float apply(float x) { return vector_math::erf(x); }
  [[gnu::always_inline]] static double apply(double x) { return std::erf(x); }
};
struct Sin {
  [[gnu::always_inline]] static float apply(float x) { return vector_math::sin(x); }
  [[gnu::always_inline]] static double apply(double x) { return std::sin(x); }
};
struct Cos {
  [[gnu::always_inline]] static float apply(float x) { return vector_math::cos(x); }
  [[gnu::always_inline]] static double apply(double x) { return std::cos(x); }
};
struct Sqrt {
  template <class V>
  [[gnu::always_inline]] static V apply(V x) {
    return std::sqrt(x);
  }
};
struct Rsqrt {
  template <class V>
  [[gnu::always_inline]] static V apply(V x) {
    return V{1} / std::sqrt(x);
  }
};
struct Floor {
  template <class V>
  [[gnu::always_inline]] static V apply(V x) {
    return std::floor(x);
  }
};
struct Ceil {
  template <class V>
  [[gnu::always_inline]] static V apply(V x) {
    return std::ceil(x);
  }
};
struct RoundEven {
  [[gnu::always_inline]] static float apply(float x) {
    // Adding 2^23 leaves no fraction bits; what is larger has none (and NaN compares false).
    const float a = __builtin_fabsf(x);
    const float rounded = a < 0x1p23F ? (a + 0x1p23F) - 0x1p23F : a;
    return __builtin_copysignf(rounded, x);
  }
  [[gnu::always_inline]] static double apply(double x) { return __builtin_roundeven(x); }
};

/// The value of a visit_dtype type To nearest to x: floats to integers truncate and saturate, NaN
/// becomes 0; to bool is x != 0; wider integers to narrower ones wrap.
template <class To, class V>
[[gnu::always_inline]] inline Computed<To> convert(V x) {
  using R = Computed<To>;
  if constexpr (std::is_same_v<To, bool>) {
    return x != V{0} ? 1 : 0;
  } else if constexpr (kIsFloating<V> && !kIsFloating<R>) {
    // Powers of two are exact in V; the largest value below 2^digits is what can be cast.
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
