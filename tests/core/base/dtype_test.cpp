#include "core/base/dtype.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "core/base/thread_pool.h"

namespace lockstep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kPatterns = 1U << 16;

/// A 16-bit float format, and its decoder written from the definition of IEEE formats in f64.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  std::uint16_t (*encode)(float);
  float (*decode)(std::uint16_t);

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  double expected(std::uint32_t bits) const {
    const double sign = bits >> 15 != 0 ? -1 : 1;
    const auto exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const auto mantissa = static_cast<int>(bits & ((1U << mantissa_bits) - 1));
    if (exponent == (1 << exponent_bits) - 1) {
      return mantissa == 0 ? sign * kInfinity : std::numeric_limits<double>::quiet_NaN();
    }
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias() - mantissa_bits);
  }
  std::uint16_t infinity() const {
    return static_cast<std::uint16_t>(((1U << exponent_bits) - 1) << mantissa_bits);
  }
};

const Format kBF16Format{8, 7, bf16_from_float, float_from_bf16};
const Format kF16Format{5, 10, f16_from_float, float_from_f16};

void PrintTo(const Format& format, std::ostream* out) {
  *out << "e" << format.exponent_bits << "m" << format.mantissa_bits;
}

class SixteenBits : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, SixteenBits, testing::Values(kBF16Format, kF16Format),
                         testing::PrintToStringParamName());

TEST_P(SixteenBits, EveryPatternDecodesByTheDefinition) {
  for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
    const double expected = GetParam().expected(bits);
    const float actual = GetParam().decode(static_cast<std::uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << bits;
    } else {
      ASSERT_EQ(actual, expected) << bits;
      ASSERT_EQ(std::signbit(actual), bits >> 15 != 0) << bits;
    }
  }
}

TEST_P(SixteenBits, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
    const float value = GetParam().decode(static_cast<std::uint16_t>(bits));
    const std::uint16_t back = GetParam().encode(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(GetParam().decode(back))) << bits;
      ASSERT_EQ(back >> 15, bits >> 15) << "the sign of a NaN is kept";
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

TEST_P(SixteenBits, HalfwayGoesToTheEvenNeighbourAndTheRestToTheNearest) {
  const Format& format = GetParam();
  for (std::uint16_t low = 0; low < format.infinity(); ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const double below = format.expected(low);
    // Beyond the largest finite value, the next step of the same size is where infinity begins.
    const double above = high == format.infinity() ? below + (below - format.expected(low - 1))
                                                   : format.expected(high);
    const auto middle = static_cast<float>((below + above) / 2);
    const std::uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(format.encode(middle), even);
    ASSERT_EQ(format.encode(-middle), even | 0x8000);
    ASSERT_EQ(format.encode(std::nextafter(middle, 0.0F)), low);
    ASSERT_EQ(format.encode(std::nextafter(middle, kInfinity)), high);
  }
}

TEST_P(SixteenBits, OverflowsToInfinity) {
  const Format& format = GetParam();
  EXPECT_EQ(format.encode(std::numeric_limits<float>::max()), format.infinity());
  EXPECT_EQ(format.encode(-kInfinity), format.infinity() | 0x8000);
}

TEST_P(SixteenBits, ConversionsDoNotDependOnDenormalFlushing) {
  const Format format = GetParam();
  std::thread([format] {
    flush_denormals();
    for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
      const float value = format.decode(static_cast<std::uint16_t>(bits));
      const auto back = format.encode(value);
      const bool is_nan = (bits & 0x7fff) > format.infinity();
      ASSERT_TRUE(is_nan || back == bits) << bits;
    }
  }).join();
}

RC_GTEST_PROP(Bf16, IsTheNearestOfItsNeighbours, (std::uint32_t bits)) {
  const auto value = std::bit_cast<float>(bits);
  RC_PRE(std::isfinite(value));
  const std::uint16_t rounded = bf16_from_float(value);
  RC_PRE(std::isfinite(float_from_bf16(rounded)));
  const auto distance = [&](std::uint16_t candidate) {
    return std::abs(kBF16Format.expected(candidate) - static_cast<double>(value));
  };
  RC_ASSERT(distance(rounded) <= distance(static_cast<std::uint16_t>(rounded + 1)) ||
            !std::isfinite(kBF16Format.expected(rounded + 1)));
  if ((rounded & 0x7fff) != 0) {
    RC_ASSERT(distance(rounded) <= distance(static_cast<std::uint16_t>(rounded - 1)));
  }
}

const std::vector<DType> kAll = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64,
                                 DType::kI32, DType::kI64,  DType::kU8,  DType::kBool};

TEST(DTypeNames, AreInverseToParsing) {
  for (const DType dtype : kAll) EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  EXPECT_EQ(name_of(DType::kBF16), "bf16");
  EXPECT_EQ(name_of(DType::kBool), "bool");
  EXPECT_FALSE(parse_dtype("F32").has_value());
  EXPECT_FALSE(parse_dtype("").has_value());
}

TEST(DTypeClasses, PartitionTheTypes) {
  for (const DType dtype : kAll) {
    EXPECT_EQ(is_float(dtype) + is_integer(dtype) + (dtype == DType::kBool), 1) << name_of(dtype);
  }
}

TEST(VisitDType, PassesTheStorageType) {
  for (const DType dtype : kAll) {
    visit_dtype(dtype, [&](auto zero) {
      EXPECT_EQ(sizeof(zero), size_of(dtype));
      EXPECT_EQ(DTypeOf<decltype(zero)>::value, dtype);
    });
  }
}

}  // namespace
}  // namespace lockstep
