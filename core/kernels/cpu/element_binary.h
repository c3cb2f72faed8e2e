// What the elementwise ops and comparisons of two operands do to an element, for every type they
// accept. Always inlined, see vector_math.h.
#pragma once

#include <cmath>
#include <type_traits>

#include "core/kernels/cpu/element_unary.h"

namespace lockstep::element {

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
struct Subtract {
  template <class V>
  [[gnu::always_inline]] static V apply(V a, V b) {
    if constexpr (kIsFloating<V>) {
      return a - b;
    } else {
      return static_cast<V>(static_cast<Unsigned<V>>(a) - static_cast<Unsigned<V>>(b));
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
struct Divide {
  template <class V>
  [[gnu::always_inline]] static V apply(V a, V b) {
    if constexpr (kIsFloating<V>) {
      return a / b;
    } else {
      if (b == 0) return static_cast<V>(-1);
      if (std::is_signed_v<V> && b == static_cast<V>(-1)) return Negate::apply(a);
      return static_cast<V>(a / b);
    }
  }
};
struct Remainder {
  template <class V>
  [[gnu::always_inline]] static V apply(V a, V b) {
    if constexpr (kIsFloating<V>) {
      return std::fmod(a, b);
    } else {
      if (b == 0) return a;
      if (std::is_signed_v<V> && b == static_cast<V>(-1)) return V{0};
      return static_cast<V>(a % b);
    }
  }
};
struct Power {
  [[gnu::always_inline]] static float apply(float a, float b) { return vector_math::power(a, b); }
  [[gnu::always_inline]] static double apply(double a, double b) { return std::pow(a, b); }
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
struct And {
  template <class V>
  [[gnu::always_inline]] static V apply(V a, V b) {
    return static_cast<V>(a & b);
  }
};
struct Or {
  template <class V>
  [[gnu::always_inline]] static V apply(V a, V b) {
    return static_cast<V>(a | b);
  }
};
struct Xor {
  template <class V>
  [[gnu::always_inline]] static V apply(V a, V b) {
    return static_cast<V>(a ^ b);
  }
};

/// x shifted by `by` if 0 <= by < width, else 0.
template <class V, bool kLeft>
[[gnu::always_inline]] inline V shift(V x, V by) {
  using U = std::make_unsigned_t<V>;
  constexpr U kWidth = sizeof(V) * 8;
  const U distance = static_cast<U>(by);  // negative distances become large
  const U safe = static_cast<U>(distance & (kWidth - 1U));
  const U shifted =
      kLeft ? static_cast<U>(static_cast<U>(x) << safe) : static_cast<U>(static_cast<U>(x) >> safe);
  return static_cast<V>(distance < kWidth ? shifted : U{0});
}
struct ShiftLeft {
  template <class V>
  [[gnu::always_inline]] static V apply(V x, V by) {
    return shift<V, true>(x, by);
  }
};
struct ShiftRightLogical {
  template <class V>
  [[gnu::always_inline]] static V apply(V x, V by) {
    return shift<V, false>(x, by);
  }
};

struct Equal {
  template <class V>
  [[gnu::always_inline]] static std::uint8_t apply(V a, V b) {
    return a == b ? 1 : 0;
  }
};
struct NotEqual {
  template <class V>
  [[gnu::always_inline]] static std::uint8_t apply(V a, V b) {
    return a != b ? 1 : 0;
  }
};
struct Less {
  template <class V>
  [[gnu::always_inline]] static std::uint8_t apply(V a, V b) {
    return a < b ? 1 : 0;
  }
};
struct LessEqual {
  template <class V>
  [[gnu::always_inline]] static std::uint8_t apply(V a, V b) {
    return a <= b ? 1 : 0;
  }
};
struct Greater {
  template <class V>
  [[gnu::always_inline]] static std::uint8_t apply(V a, V b) {
    return a > b ? 1 : 0;
  }
};
struct GreaterEqual {
  template <class V>
  [[gnu::always_inline]] static std::uint8_t apply(V a, V b) {
    return a >= b ? 1 : 0;
  }
};

}  // namespace lockstep::element
