// Elementary functions as branch-free polynomials, written for vectors of generated code (T is
// Lanes, see emit_lanes.h, whose functions they use). Every multiply-add that is fused says so: an
// element's bits do not depend on the vector width, on its position or on the instruction set.
//
// Largest errors in units in the last place of f32, as tests/core/kernels/codegen_math_test.cpp
// checks them against f64 (results below the smallest normal number flush to zero where the
// thread flushes denormals):
//   exp 1, log 1, tanh 2, erf 1.5, rsqrt 1.5;
//   in vector_math_wide.h: sin 1 and cos 1 (up to |x| = 2^40), power 1.
//
// Coefficients: own minimax fits, by the Remez exchange in 60-digit arithmetic (mpmath) with
// weights that make the error relative to the function; each comment gives the fitted quantity, its
// interval and the error left before rounding. Argument reductions follow W. J. Cody and W. Waite,
// "Software Manual for the Elementary Functions" (1980); the split of erf follows N. Juffa's erff.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace lockstep::vector_math {

/// c0 + x c1 + x^2 c2 + ... by Horner's rule.
template <class T, class C>
T polynomial(T x, C c0) {
  return number_like(x, c0);
}
template <class T, class C, class... Rest>
T polynomial(T x, C c0, Rest... rest) {
  return fma(polynomial(x, rest...), x, number_like(x, c0));
}

/// 2^n for -126 <= n <= 127.
template <class I>
auto power_of_two(I n) {
  return float_of_bits((n + 127) << 23);
}

/// x = n ln 2 + r with |r| <= ln 2 / 2; e^r = 1 + r + r^2 q(r).
template <class T, class I>
struct ExpParts {
  I n;
  T tail;  ///< e^r - 1
};
template <class T>
auto split_exp(T x) {
  constexpr float kMagic = 0x1.8p23F;  // adding it rounds to an integer in the low mantissa bits
  const T shifted = fma(x, number_like(x, 0x1.715476p0F), number_like(x, kMagic));
  const T n = shifted - kMagic;
  T r = fma(n, number_like(x, -0x1.62e400p-1F), x);
  r = fma(n, number_like(x, -0x1.7f7d1cp-20F), r);
  // (e^r - 1 - r) / r^2 on [-0.347, 0.347], error of e^r 2^-28.3.
  const T tail = fma(r * r,
                     polynomial(r, 0x1.fffffcp-2F, 0x1.555490p-3F, 0x1.5558f8p-5F, 0x1.123b02p-7F,
                                0x1.6a2258p-10F),
                     r);
  auto whole = bits_of(shifted) - std::bit_cast<std::int32_t>(kMagic);
  return ExpParts<T, decltype(whole)>{whole, tail};
}

template <class T>
T exp(T x) {
  const T low = select(x < -104.0F, number_like(x, -104.0F), x);  // NaN passes both
  const T clamped = select(low > 89.0F, number_like(x, 89.0F), low);
  const auto parts = split_exp(clamped);
  // 2^n in two factors: n reaches 128 and, for results that are denormal, -150.
  const auto half = parts.n >> 1;
  return (1.0F + parts.tail) * power_of_two(half) * power_of_two(parts.n - half);
}

template <class T>
T log(T x) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr std::int32_t kRootHalf = 0x3f3504f3;  // bits of sqrt(1/2)
  const auto tiny = x < 0x1p-126F;
  const T scaled = select(tiny, x * 0x1p23F, x);
  const auto offset = bits_of(scaled) - kRootHalf;
  const T m = float_of_bits((offset & 0x7fffff) + kRootHalf);  // [sqrt 1/2, sqrt 2)
  const T e =
      to_float((offset >> 23) - select(tiny, number_like(offset, 23), number_like(offset, 0)));
  const T f = m - 1.0F;
  const T f2 = f * f;
  // (log(1 + f) - f + f^2 / 2) / f^3 on [-0.293, 0.415], error of the logarithm 2^-30.3.
  T low = fma(
      f2 * f,
      polynomial(f, 0x1.555548p-2F, -0x1.000006p-2F, 0x1.99a4b6p-3F, -0x1.555c4ep-3F,
                 0x1.233768p-3F, -0x1.fc2208p-4F, 0x1.e6f068p-4F, -0x1.de3c10p-4F, 0x1.1457a6p-4F),
      e * 0x1.7f7d1cp-20F);
  low = fma(f2, number_like(x, -0.5F), low);
  const T normal = fma(e, number_like(x, 0x1.62e400p-1F), f + low);
  const T positive = select(x == kInf, number_like(x, kInf), normal);
  const T with_zero = select(x == 0.0F, number_like(x, -kInf), positive);
  return select(x >= 0.0F, with_zero, number_like(x, std::numeric_limits<float>::quiet_NaN()));
}

/// An odd polynomial near 0, else (e^2|x| - 1) / (e^2|x| + 1) with e^2|x| - 1 free of cancellation.
template <class T>
T tanh(T x) {
  const T a = absolute(x);
  const T clamped = select(a > 9.125F, number_like(x, 9.125F), a);  // from here on 1 in f32
  const auto parts = split_exp(2.0F * clamped);
  const T scale = power_of_two(parts.n);
  const T expm1 = fma(scale, parts.tail, scale - 1.0F);
  const T large = expm1 / (expm1 + 2.0F);
  const T square = a * a;
  // (tanh(x) / x - 1) / x^2 over x^2 on [0, 0.56], error of tanh 2^-29.5.
  const T small = fma(a * square,
                      polynomial(square, -0x1.555548p-2F, 0x1.110c72p-3F, -0x1.b90904p-5F,
                                 0x1.582d7cp-6F, -0x1.94f36ap-8F),
                      a);
  return copy_sign(select(a < 0.5625F, small, large), x);
}

template <class T>
T erf(T x) {
  const T t = absolute(x);
  // erf(x) / x - 1 over x^2 on [0, 0.93], error of erf 2^-31.
  const T small =
      fma(t,
          polynomial(t * t, 0x1.06eba8p-3F, -0x1.812742p-2F, 0x1.ce2e0ap-4F, -0x1.b80e90p-6F,
                     0x1.54c7f6p-8F, -0x1.aa3f2ep-11F, 0x1.5cd4b0p-14F),
          t);
  // log(erfc(t)) on [0.92, 3.95], error of erf 2^-34.3; beyond, erf is 1 in f32.
  const T clamped = select(t > 3.9375F, number_like(x, 3.9375F), t);
  const T large = 1.0F - exp(polynomial(clamped, 0x1.6e564ep-13F, -0x1.2127e4p+0F, -0x1.44460cp-1F,
                                        -0x1.bb83e2p-4F, 0x1.9b8e78p-6F, -0x1.115ac0p-8F,
                                        0x1.c790e8p-12F, -0x1.61ea2ap-16F));
  return copy_sign(select(t < 0.921875F, small, large), x);
}

template <class T>
T rsqrt(T x) {
  return 1.0F / square_root(x);
}

}  // namespace lockstep::vector_math
