// The elementary functions that reduce or evaluate in f64: sin, cos and power. Bounds and sources
// of coefficients as in vector_math.h.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "core/kernels/codegen/vector_math.h"

namespace lockstep::vector_math {

/// sin(x + quarter * pi/2), reduced and evaluated in f64. The reduction is exact enough up to
/// |x| = kLargestAngle; callers redo larger arguments with libm.
inline constexpr float kLargestAngle = 0x1p40F;
template <class T>
T sine(T x, int quarter) {
  constexpr double kMagic = 0x1.8p52;
  const auto wide = to_wide(x);
  const auto shifted =
      fma(wide, number_like(wide, 0x1.45f306dc9c883p-1), number_like(wide, kMagic));
  const auto n = shifted - kMagic;
  auto r = fma(n, number_like(wide, -0x1.921fb54442d18p0), wide);
  r = fma(n, number_like(wide, -0x1.1a62633145c07p-54), r);
  const auto turn = bits_of(shifted) + quarter;
  const auto u = r * r;
  // (sin(r)/r - 1) / r^2 and (cos(r) - 1 + r^2/2) / r^4 over r^2 on |r| <= pi/4; errors 2^-37,
  // 2^-43.
  const auto s = fma(r * u,
                     polynomial(u, -0x1.5555554cb90ffp-3, 0x1.11110895ab24fp-7,
                                -0x1.a00f9d23cb177p-13, 0x1.6cd838dfca97ap-19),
                     r);
  const auto c = fma(u * u,
                     polynomial(u, 0x1.5555554f4dac8p-5, -0x1.6c16b8982352dp-10,
                                0x1.a0111fb693c1ep-16, -0x1.242abe642ece7p-22),
                     fma(u, number_like(u, -0.5), number_like(u, 1.0)));
  const auto value = select((turn & 1) != 0, c, s);
  return to_narrow(select((turn & 2) != 0, -value, value));
}
template <class T>
T sin(T x) {
  return select(x == 0.0F, x, sine(x, 0));
}
template <class T>
T cos(T x) {
  return sine(x, 1);
}

/// log2(x) in f64 for positive normal or infinite x.
template <class T>
T log2_wide(T x) {
  constexpr std::int64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const auto offset = bits_of(x) - kRootHalf;
  const T m = float_of_bits((offset & 0xfffffffffffff) + kRootHalf);
  // The exponent as a double without a 64-bit conversion, which AVX2 lacks.
  const T e = float_of_bits(((offset >> 52) + 2048) | 0x4330000000000000) - (0x1p52 + 2048.0);
  const T s = (m - 1.0) / (m + 1.0);
  // log2((1 + s) / (1 - s)) / s over s^2 on |s| <= 0.1717, error 2^-52.
  return fma(s,
             polynomial(s * s, 0x1.71547652b82ffp+1, 0x1.ec709dc39c98bp-1, 0x1.2776c516b346fp-1,
                        0x1.a617566a60332p-2, 0x1.484fafc054e7dp-2, 0x1.0bb74581f3bc0p-2,
                        0x1.f19063523ecf5p-3),
             e);
}

/// 2^x in f64, clamped to what f32 can hold.
template <class T>
T exp2_wide(T x) {
  const T low = select(x < -200.0, number_like(x, -200.0), x);
  const T clamped = select(low > 200.0, number_like(x, 200.0), low);
  constexpr double kMagic = 0x1.8p52;
  const T shifted = clamped + kMagic;
  const T r = clamped - (shifted - kMagic);
  // 2^r on |r| <= 1/2, error 2^-40.
  const T scale =
      float_of_bits((bits_of(shifted) - std::bit_cast<std::int64_t>(kMagic) + 1023) << 52);
  return polynomial(r, 0x1.ffffffffff79fp-1, 0x1.62e42fef8609ep-1, 0x1.ebfbdff932083p-3,
                    0x1.c6b08dd48bcf5p-5, 0x1.3b2ab5c4cadbap-7, 0x1.5d8748132d001p-10,
                    0x1.430accfc22ebbp-13, 0x1.00daeb4d953bcp-16, 0x1.61afb44b66084p-20) *
         scale;
}

/// x^y as std::pow: 1 for y = 0 or x = 1, NaN for negative x and y no integer.
template <class T>
T power(T x, T y) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const T a = absolute(x);
  const T b = absolute(y);
  constexpr double kWideInf = std::numeric_limits<double>::infinity();
  const auto wide = to_wide(a);
  const auto finite_log = log2_wide(wide);
  const auto wide_log = select(a == 0.0F, number_like(wide, -kWideInf),
                               select(a == kInf, number_like(wide, kWideInf), finite_log));
  // y = +-inf with |x| = 1 would be 0 * inf.
  const auto exponent = select(wide_log == 0.0, number_like(wide, 0.0), to_wide(y) * wide_log);
  const T magnitude = to_narrow(exp2_wide(exponent));
  const auto y_integer = round_down(b) == b;  // infinity counts, as even
  const T halved = b * 0.5F;
  const auto y_odd = y_integer & (b < 0x1p24F) & (round_down(halved) != halved);
  const auto x_negative = bits_of(x) < 0;
  const T with_sign = select(x_negative & y_odd, -magnitude, magnitude);
  const auto undefined = (x < 0.0F) & (a != kInf) & !y_integer;
  const T defined =
      select(undefined, number_like(x, std::numeric_limits<float>::quiet_NaN()), with_sign);
  const T with_nan = select((x != x) | (y != y), x + y, defined);
  return select((y == 0.0F) | (x == 1.0F), number_like(x, 1.0F), with_nan);
}

}  // namespace lockstep::vector_math
