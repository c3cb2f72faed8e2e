// The stated error bounds of core/kernels/cpu/vector_math.h, over a dense sample of all floats.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "core/base/thread_pool.h"
#include "core/kernels/cpu/vector_math.h"
#include "core/kernels/cpu/vector_math_wide.h"

namespace lockstep {
namespace {

constexpr float kInf = INFINITY;
constexpr std::uint64_t kStep = 4093;  // a prime: all exponents, varied mantissas

/// The largest error of f against `exact` in units in the last place over [low, high]. Results that
/// are denormal may be flushed; NaN and infinity must agree.
template <class F, class Exact>
double worst_ulp(F f, Exact exact, float low = -kInf, float high = kInf) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += kStep) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(x) && (x < low || x > high)) continue;
    const float got = f(x);
    const double want = exact(static_cast<double>(x));
    const auto rounded = static_cast<float>(want);
    if (std::isnan(want) || std::isinf(rounded)) {
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == rounded) << "at " << x;
      continue;
    }
    if (std::abs(want) < 0x1p-126) {
      EXPECT_LE(std::abs(got), 0x1p-126F) << "at " << x;
      continue;
    }
    const double ulp = std::ldexp(1.0, std::ilogb(want) - 23);
    worst = std::max(worst, std::abs(static_cast<double>(got) - want) / ulp);
  }
  return worst;
}

TEST(VectorMath, HoldsItsBounds) {
  namespace vm = vector_math;
  EXPECT_LE(worst_ulp([](float x) { return vm::exp(x); }, [](double x) { return std::exp(x); }), 1);
  EXPECT_LE(worst_ulp([](float x) { return vm::log(x); }, [](double x) { return std::log(x); }), 1);
  EXPECT_LE(worst_ulp([](float x) { return vm::tanh(x); }, [](double x) { return std::tanh(x); }),
            2);
  EXPECT_LE(worst_ulp([](float x) { return vm::erf(x); }, [](double x) { return std::erf(x); }),
            1.5);
  EXPECT_LE(worst_ulp([](float x) { return vm::rsqrt(x); },
                      [](double x) { return 1 / std::sqrt(x); }, 0x1p-126F),
            1.5);
  constexpr float kLargest = vm::kLargestAngle;
  EXPECT_LE(worst_ulp([](float x) { return vm::sin(x); }, [](double x) { return std::sin(x); },
                      -kLargest, kLargest),
            1);
  EXPECT_LE(worst_ulp([](float x) { return vm::cos(x); }, [](double x) { return std::cos(x); },
                      -kLargest, kLargest),
            1);
  for (const float y : {-2.5F, -1.0F, 0.0F, 0.5F, 1.0F, 2.0F, 3.0F, 1e-10F, 100.0F, kInf})
    EXPECT_LE(worst_ulp([y](float x) { return vm::power(x, y); },
                        [y](double x) { return std::pow(x, static_cast<double>(y)); }),
              1)
        << "exponent " << y;
}

TEST(VectorMath, IsTheSameOnAThreadThatFlushesDenormals) {
  // Results that are neither denormal nor made from denormals.
  const unsigned before = __builtin_ia32_stmxcsr();
  for (std::uint32_t bits = 0; bits < 0xff000000U; bits += 65521) {
    const float x = std::bit_cast<float>(bits);
    if (std::abs(x) < 0x1p-126F) continue;
    const float plain[] = {vector_math::exp(x), vector_math::log(x), vector_math::tanh(x),
                           vector_math::erf(x)};
    flush_denormals();
    const float flushed[] = {vector_math::exp(x), vector_math::log(x), vector_math::tanh(x),
                             vector_math::erf(x)};
    __builtin_ia32_ldmxcsr(before);
    for (int i = 0; i < 4; ++i) {
      if (std::abs(plain[i]) < 0x1p-126F) continue;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(plain[i]), std::bit_cast<std::uint32_t>(flushed[i]))
          << x;
    }
  }
}

}  // namespace
}  // namespace lockstep
