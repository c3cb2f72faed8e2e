// Elementary functions as branch-free polynomials, written for vectors of generated code (T is
// Lanes, see emit_lanes.h, whose functions they use). Every fused multiply-add is explicit: an
// element's bits do not depend on the vector width, on its position or on the instruction set.
//
// Largest errors in units in the last place of f32, as tests/core/kernels/codegen/math_test.cpp
// checks them against f64 (results below the smallest normal number flush to zero where the
// thread flushes denormals):
//   exp 1, log 1, tanh 2, erf 1.5, rsqrt 1.5;
//   in vector_math_wide.h: sin 1 and cos 1 (up to |x| = 2^40), power 1.
//
// Coefficients: own minimax fits, by the Remez exchange in 60-digit arithmetic (mpmath) with
// weights that make the error relative to the function; each comment gives the fitted quantity, its
// interval and the error left before rounding. Argument reductions follow W. J. Cody and W. Waite,
// "Software Manual for the Elementary Functions" (1980).
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
  T whole;  ///< n
  T tail;   ///< e^r - 1
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
  auto integer = bits_of(shifted) - std::bit_cast<std::int32_t>(kMagic);
  return ExpParts<T, decltype(integer)>{integer, n, tail};
}

/// m 2^n for 1/2 < m < 2 and -150 <= n <= 128: in two factors, since 2^n may be out of range.
template <class T, class I>
T scale_in_two(T m, const ExpParts<T, I>& parts) {
  const auto half = parts.n >> 1;
  return m * power_of_two(half) * power_of_two(parts.n - half);
}

/// scale(m, parts) is scale_in_two or an equivalent instruction.
template <class T, class Scale>
T exp(T x, Scale scale) {
  const T low = select(x < -104.0F, number_like(x, -104.0F), x);  // NaN passes both
  const T clamped = select(low > 89.0F, number_like(x, 89.0F), low);
  const auto parts = split_exp(clamped);
  return scale(1.0F + parts.tail, parts);
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

/// erf on [0, 4] as sixteen polynomials of the distance to the nearest k kErfStep, by power and k.
/// Each power's coefficients are a table of a register's size: all intervals cost the same, without
/// branches. The first is of erf(s) / s - 1, odd, error of erf 0.07 units in the last place; the
/// others are of erf itself, error 0.02 to 0.5 with the first coefficient's rounding.
inline constexpr float kErfStep = 0x1.089cp-2F;  // k kErfStep is exact; erf(k kErfStep) nearly
inline constexpr float kErfTables[6][16] = {
    {0.0F, 0x1.24109ep-2F, 0x1.11ff6cp-1F, 0x1.7441fap-1F, 0x1.b65f70p-1F, 0x1.dd5abep-1F,
     0x1.f17e7ep-1F, 0x1.fa9c8ap-1F, 0x1.fe3a68p-1F, 0x1.ff7c36p-1F, 0x1.ffde38p-1F, 0x1.fff85ep-1F,
     0x1.fffe7cp-1F, 0x1.ffffbcp-1F, 0x1.fffff6p-1F, 0x1.fffffep-1F},
    {0x1.06eba8p-3F, 0x1.0e34c6p+0F, 0x1.ba4f20p-1F, 0x1.3cc1ecp-1F, 0x1.8cf87cp-2F, 0x1.b34d36p-3F,
     0x1.a1a8e2p-4F, 0x1.5ea290p-5F, 0x1.0190e0p-6F, 0x1.4b1832p-8F, 0x1.7467d0p-10F,
     0x1.6e8176p-12F, 0x1.3b9b4ap-14F, 0x1.db99b0p-17F, 0x1.398d40p-19F, 0x1.69bfc8p-22F},
    {0.0F, -0x1.1749a0p-2F, -0x1.c92ce2p-2F, -0x1.eb1ca8p-2F, -0x1.9a52d8p-2F, -0x1.19369ep-2F,
     -0x1.43c6f4p-3F, -0x1.3d1de0p-4F, -0x1.0a44aep-5F, -0x1.80fd26p-7F, -0x1.e1b226p-9F,
     -0x1.040d4ap-10F, -0x1.f24e42p-13F, -0x1.8f1828p-15F, -0x1.89ac26p-17F, 0x1.82a404p-19F},
    {-0x1.81266ep-2F, -0x1.382722p-2F, -0x1.12b47cp-3F, 0x1.551e2ap-5F, 0x1.2cd67ep-3F,
     0x1.53593ap-3F, 0x1.090f4ap-3F, 0x1.43fc5ap-4F, 0x1.43fc8ep-5F, 0x1.0ee080p-6F, 0x1.7f6874p-8F,
     0x1.cef716p-10F, 0x1.df6952p-12F, 0x1.ab53d8p-14F, 0x1.48c5eep-16F, 0x1.b59326p-19F},
    {0.0F, 0x1.08d504p-3F, 0x1.752b66p-3F, 0x1.252fcap-3F, 0x1.da705cp-5F, -0x1.eefe60p-7F,
     -0x1.841d6ap-5F, -0x1.7656ccp-5F, -0x1.e8aa64p-6F, -0x1.f8548ep-7F, -0x1.95345ep-8F,
     -0x1.29f8f6p-9F, -0x1.c7ffe2p-12F, -0x1.4f6d62p-13F, 0x1.03c00ap-13F, -0x1.b16e80p-13F},
    {0x1.cbb082p-4F, 0x1.3cec40p-4F, 0x1.3ccd0ep-9F, -0x1.cf0c12p-5F, -0x1.1457f8p-4F,
     -0x1.5508acp-5F, -0x1.34b8d0p-7F, 0x1.2d89bep-7F, 0x1.a6c9e6p-7F, 0x1.2fef2ep-7F,
     0x1.3b6c4cp-8F, 0x1.016feap-9F, 0x1.56fbd6p-11F, 0x1.7c3ccep-13F, 0x1.63011ep-15F,
     0x1.195380p-17F},
};

/// lookup(table, i) gives table[i mod 16].
template <class T, class Lookup>
T erf(T x, Lookup lookup) {
  constexpr float kMagic = 0x1.8p23F;
  const T t = absolute(x);
  const T clamped = select(t > 4.0F, number_like(x, 4.0F), t);  // from 3.92 on 1 in f32
  const T shifted = fma(clamped, number_like(x, 1 / kErfStep), number_like(x, kMagic));
  const T s = fma(shifted - kMagic, number_like(x, -kErfStep), clamped);
  const auto coefficient = [&](int power) { return lookup(kErfTables[power], bits_of(shifted)); };
  T q = coefficient(5);
  for (int power = 4; power > 0; --power) q = fma(q, s, coefficient(power));
  // Near 0, where the first coefficient is 0, s itself is added; elsewhere it is smaller.
  const T first = coefficient(0);
  return copy_sign(fma(q, s, select(first > s, first, s)), x);
}

template <class T>
T rsqrt(T x) {
  return 1.0F / square_root(x);
}

}  // namespace lockstep::vector_math
