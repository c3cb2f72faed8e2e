// Elementary functions as branch-free polynomials, written so that a loop over them vectorizes, and
// every multiply-add that is fused says so: an element's bits do not depend on the vector width, on
// its position or on the instruction set.
//
// Largest errors in units in the last place of f32, as tests/core/kernels/cpu_vector_math_test.cpp
// checks them against f64 (results below the smallest normal number flush to zero where the
// thread flushes denormals):
//   exp 1, log 1, tanh 2, erf 1.5, rsqrt 1.5;
//   in vector_math_wide.h: sin 1 and cos 1 (up to |x| = 2^40), power 1.
//
// Coefficients: own minimax fits, by the Remez exchange in 60-digit arithmetic (mpmath) with
// weights that make the error relative to the function; each comment gives the fitted quantity, its
// interval and the error left before rounding. Argument reductions follow W. J. Cody and W. Waite,
// "Software Manual for the Elementary Functions" (1980); the split of erf follows N. Juffa's erff.
//
// All functions are always inlined: sources of several instruction sets include this file, and an
// out-of-line copy of one could be linked into another.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace lockstep::vector_math {

[[gnu::always_inline]] inline float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
[[gnu::always_inline]] inline double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

/// c0 + x c1 + x^2 c2 + ... by Horner's rule, unrolled: a loop over an array of coefficients would
/// keep the loop around it from vectorizing.
template <class T>
[[gnu::always_inline]] inline T polynomial(T, T c0) {
  return c0;
}
template <class T, class... Rest>
[[gnu::always_inline]] inline T polynomial(T x, T c0, Rest... rest) {
  return fma(polynomial(x, rest...), x, c0);
}

/// 2^n for -126 <= n <= 127.
[[gnu::always_inline]] inline float power_of_two(std::int32_t n) {
  return std::bit_cast<float>((static_cast<std::uint32_t>(n) + 127U) << 23);
}

/// x = n ln 2 + r with |r| <= ln 2 / 2; e^r = 1 + r + r^2 q(r).
struct ExpParts {
  std::int32_t n;
  float tail;  ///< e^r - 1
};
[[gnu::always_inline]] inline ExpParts split_exp(float x) {
  constexpr float kMagic = 0x1.8p23F;  // adding it rounds to an integer in the low mantissa bits
  const float shifted = fma(x, 0x1.715476p0F, kMagic);
  const float n = shifted - kMagic;
  float r = fma(n, -0x1.62e400p-1F, x);
  r = fma(n, -0x1.7f7d1cp-20F, r);
  // (e^r - 1 - r) / r^2 on [-0.347, 0.347], error of e^r 2^-28.3.
  const float tail = fma(r * r,
                         polynomial(r, 0x1.fffffcp-2F, 0x1.555490p-3F, 0x1.5558f8p-5F,
                                    0x1.123b02p-7F, 0x1.6a2258p-10F),
                         r);
  return {static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) -
                                    std::bit_cast<std::uint32_t>(kMagic)),
          tail};
}

[[gnu::always_inline]] inline float exp(float x) {
  const float low = x < -104.0F ? -104.0F : x;  // NaN passes both
  const float clamped = low > 89.0F ? 89.0F : low;
  const ExpParts parts = split_exp(clamped);
  // 2^n in two factors: n reaches 128 and, for results that are denormal, -150.
  const std::int32_t half = parts.n >> 1;
  return (1.0F + parts.tail) * power_of_two(half) * power_of_two(parts.n - half);
}

[[gnu::always_inline]] inline float log(float x) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr std::int32_t kRootHalf = 0x3f3504f3;  // bits of sqrt(1/2)
  const bool tiny = x < 0x1p-126F;
  const float scaled = tiny ? x * 0x1p23F : x;
  const std::int32_t offset = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(scaled) -
                                                        static_cast<std::uint32_t>(kRootHalf));
  const float m = std::bit_cast<float>((offset & 0x7fffff) + kRootHalf);  // [sqrt 1/2, sqrt 2)
  const auto e = static_cast<float>((offset >> 23) - (tiny ? 23 : 0));
  const float f = m - 1.0F;
  const float f2 = f * f;
  // (log(1 + f) - f + f^2 / 2) / f^3 on [-0.293, 0.415], error of the logarithm 2^-30.3.
  float low = fma(
      f2 * f,
      polynomial(f, 0x1.555548p-2F, -0x1.000006p-2F, 0x1.99a4b6p-3F, -0x1.555c4ep-3F,
                 0x1.233768p-3F, -0x1.fc2208p-4F, 0x1.e6f068p-4F, -0x1.de3c10p-4F, 0x1.1457a6p-4F),
      e * 0x1.7f7d1cp-20F);
  low = fma(f2, -0.5F, low);
  const float normal = fma(e, 0x1.62e400p-1F, f + low);
  const float positive = x == kInf ? kInf : normal;
  const float with_zero = x == 0.0F ? -kInf : positive;
  return x >= 0.0F ? with_zero : std::numeric_limits<float>::quiet_NaN();
}

/// An odd polynomial near 0, else (e^2|x| - 1) / (e^2|x| + 1) with e^2|x| - 1 free of cancellation.
[[gnu::always_inline]] inline float tanh(float x) {
  const float a = __builtin_fabsf(x);
  const float clamped = a > 9.125F ? 9.125F : a;  // from here on 1 in f32
  const ExpParts parts = split_exp(2.0F * clamped);
  const float scale = power_of_two(parts.n);
  const float expm1 = fma(scale, parts.tail, scale - 1.0F);
  const float large = expm1 / (expm1 + 2.0F);
  const float square = a * a;
  // (tanh(x) / x - 1) / x^2 over x^2 on [0, 0.56], error of tanh 2^-29.5.
  const float small = fma(a * square,
                          polynomial(square, -0x1.555548p-2F, 0x1.110c72p-3F, -0x1.b90904p-5F,
                                     0x1.582d7cp-6F, -0x1.94f36ap-8F),
                          a);
  return __builtin_copysignf(a < 0.5625F ? small : large, x);
}

[[gnu::always_inline]] inline float erf(float x) {
  const float t = __builtin_fabsf(x);
  // erf(x) / x - 1 over x^2 on [0, 0.93], error of erf 2^-31.
  const float small =
      fma(t,
          polynomial(t * t, 0x1.06eba8p-3F, -0x1.812742p-2F, 0x1.ce2e0ap-4F, -0x1.b80e90p-6F,
                     0x1.54c7f6p-8F, -0x1.aa3f2ep-11F, 0x1.5cd4b0p-14F),
          t);
  // log(erfc(t)) on [0.92, 3.95], error of erf 2^-34.3; beyond, erf is 1 in f32.
  const float clamped = t > 3.9375F ? 3.9375F : t;
  const float large = 1.0F - exp(polynomial(clamped, 0x1.6e564ep-13F, -0x1.2127e4p+0F,
                                            -0x1.44460cp-1F, -0x1.bb83e2p-4F, 0x1.9b8e78p-6F,
                                            -0x1.115ac0p-8F, 0x1.c790e8p-12F, -0x1.61ea2ap-16F));
  return __builtin_copysignf(t < 0.921875F ? small : large, x);
}

[[gnu::always_inline]] inline float rsqrt(float x) {
  return 1.0F / __builtin_sqrtf(x);
}

}  // namespace lockstep::vector_math
