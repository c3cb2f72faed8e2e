// The elementary functions that reduce or evaluate in f64: sin, cos and power. Bounds and sources
// of coefficients as in vector_math.h.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "core/kernels/cpu/vector_math.h"

namespace lockstep::vector_math {

/// sin(x + quarter * pi/2), reduced and evaluated in f64. The reduction is exact enough up to
/// |x| = kLargestAngle; callers redo larger arguments with libm.
inline constexpr float kLargestAngle = 0x1p40F;
[[gnu::always_inline]] inline float sine(float x, std::int64_t quarter) {
  constexpr double kMagic = 0x1.8p52;
  const double wide = x;
  const double shifted = fma(wide, 0x1.45f306dc9c883p-1, kMagic);
  const double n = shifted - kMagic;
  double r = fma(n, -0x1.921fb54442d18p0, wide);
  r = fma(n, -0x1.1a62633145c07p-54, r);
  const std::uint64_t turn =
      std::bit_cast<std::uint64_t>(shifted) + static_cast<std::uint64_t>(quarter);
  const double u = r * r;
  // (sin(r)/r - 1) / r^2 and (cos(r) - 1 + r^2/2) / r^4 over r^2 on |r| <= pi/4; errors 2^-37,
  // 2^-43.
  const double s = fma(r * u,
                       polynomial(u, -0x1.5555554cb90ffp-3, 0x1.11110895ab24fp-7,
                                  -0x1.a00f9d23cb177p-13, 0x1.6cd838dfca97ap-19),
                       r);
  const double c = fma(u * u,
                       polynomial(u, 0x1.5555554f4dac8p-5, -0x1.6c16b8982352dp-10,
                                  0x1.a0111fb693c1ep-16, -0x1.242abe642ece7p-22),
                       fma(u, -0.5, 1.0));
  const double value = (turn & 1U) != 0 ? c : s;
  return static_cast<float>((turn & 2U) != 0 ? -value : value);
}
[[gnu::always_inline]] inline float sin(float x) {
  return x == 0.0F ? x : sine(x, 0);
}
[[gnu::always_inline]] inline float cos(float x) {
  return sine(x, 1);
}

/// log2(x) in f64 for positive normal or infinite x.
[[gnu::always_inline]] inline double log2_wide(double x) {
  constexpr std::int64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const auto offset = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(x) -
                                                static_cast<std::uint64_t>(kRootHalf));
  const double m = std::bit_cast<double>((offset & 0xfffffffffffff) + kRootHalf);
  // The exponent as a double without a 64-bit conversion, which AVX2 lacks.
  const double e = std::bit_cast<double>(static_cast<std::uint64_t>((offset >> 52) + 2048) |
                                         0x4330000000000000U) -
                   (0x1p52 + 2048.0);
  const double s = (m - 1.0) / (m + 1.0);
  // log2((1 + s) / (1 - s)) / s over s^2 on |s| <= 0.1717, error 2^-52.
  return fma(s,
             polynomial(s * s, 0x1.71547652b82ffp+1, 0x1.ec709dc39c98bp-1, 0x1.2776c516b346fp-1,
                        0x1.a617566a60332p-2, 0x1.484fafc054e7dp-2, 0x1.0bb74581f3bc0p-2,
                        0x1.f19063523ecf5p-3),
             e);
}

/// 2^x in f64, clamped to what f32 can hold.
[[gnu::always_inline]] inline double exp2_wide(double x) {
  const double low = x < -200.0 ? -200.0 : x;
  const double clamped = low > 200.0 ? 200.0 : low;
  constexpr double kMagic = 0x1.8p52;
  const double shifted = clamped + kMagic;
  const double r = clamped - (shifted - kMagic);
  // 2^r on |r| <= 1/2, error 2^-40.
  const double scale = std::bit_cast<double>(
      (std::bit_cast<std::uint64_t>(shifted) - std::bit_cast<std::uint64_t>(kMagic) + 1023U) << 52);
  return polynomial(r, 0x1.ffffffffff79fp-1, 0x1.62e42fef8609ep-1, 0x1.ebfbdff932083p-3,
                    0x1.c6b08dd48bcf5p-5, 0x1.3b2ab5c4cadbap-7, 0x1.5d8748132d001p-10,
                    0x1.430accfc22ebbp-13, 0x1.00daeb4d953bcp-16, 0x1.61afb44b66084p-20) *
         scale;
}

/// x^y as std::pow: 1 for y = 0 or x = 1, NaN for negative x and y no integer.
[[gnu::always_inline]] inline float power(float x, float y) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float a = __builtin_fabsf(x);
  const float b = __builtin_fabsf(y);
  constexpr double kWideInf = std::numeric_limits<double>::infinity();
  const double wide_log = a == 0.0F ? -kWideInf : a == kInf ? kWideInf : log2_wide(a);
  // y = +-inf with |x| = 1 would be 0 * inf.
  const double exponent = wide_log == 0.0 ? 0.0 : static_cast<double>(y) * wide_log;
  const float magnitude = static_cast<float>(exp2_wide(exponent));
  const bool y_integer = __builtin_floorf(b) == b;  // infinity counts, as even
  const float halved = b * 0.5F;
  const bool y_odd = y_integer && b < 0x1p24F && __builtin_floorf(halved) != halved;
  const bool x_negative = (std::bit_cast<std::uint32_t>(x) >> 31) != 0;
  const float is_signed = x_negative && y_odd ? -magnitude : magnitude;
  const bool undefined = x < 0.0F && a != kInf && !y_integer;
  const float defined = undefined ? std::numeric_limits<float>::quiet_NaN() : is_signed;
  const float with_nan = x != x || y != y ? x + y : defined;
  return y == 0.0F || x == 1.0F ? 1.0F : with_nan;
}

}  // namespace lockstep::vector_math
