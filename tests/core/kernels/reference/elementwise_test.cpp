#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/kernels/reference/evaluate.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsNan;
using testing::NanSensitiveDoubleEq;

constexpr double kMin32 = std::numeric_limits<std::int32_t>::min();
constexpr double kMax32 = std::numeric_limits<std::int32_t>::max();

TEST(ReferenceUnary, KeepsSpecialFloats) {
  const HostTensor x = f32({-2.5, 0, kInf, -kInf, kNaN});
  EXPECT_THAT(values(Op::kNegate, {x}), ElementsAre(2.5, 0, -kInf, kInf, IsNan()));
  EXPECT_THAT(values(Op::kAbs, {x}), ElementsAre(2.5, 0, kInf, kInf, IsNan()));
  EXPECT_THAT(values(Op::kSign, {x}), ElementsAre(-1, 0, 1, -1, IsNan()));
  EXPECT_THAT(values(Op::kExp, {x}), ElementsAre(std::exp(-2.5F), 1, kInf, 0, IsNan()));
  EXPECT_THAT(values(Op::kIsFinite, {x}), ElementsAre(1, 1, 0, 0, 0));
}

TEST(ReferenceUnary, FollowsTheMathematicalFunctions) {
  EXPECT_THAT(values(Op::kLog, {f32({1, 0, -1})}), ElementsAre(0, -kInf, IsNan()));
  EXPECT_THAT(values(Op::kTanh, {f32({0, kInf, -kInf})}), ElementsAre(0, 1, -1));
  EXPECT_THAT(values(Op::kErf, {f32({0, kInf, -kInf})}), ElementsAre(0, 1, -1));
  EXPECT_THAT(values(Op::kSqrt, {f32({4, 0, -1})}), ElementsAre(2, 0, IsNan()));
  EXPECT_THAT(values(Op::kRsqrt, {f32({4, 0})}), ElementsAre(0.5, kInf));
  EXPECT_THAT(values(Op::kSin, {f32({0})}), ElementsAre(0));
  EXPECT_THAT(values(Op::kCos, {f32({0, kInf})}), ElementsAre(1, IsNan()));
}

TEST(ReferenceUnary, RoundsToIntegers) {
  const HostTensor x = f32({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5});
  EXPECT_THAT(values(Op::kRoundEven, {x}), ElementsAre(-2, -2, 0, 0, 2, 2));
  EXPECT_THAT(values(Op::kFloor, {x}), ElementsAre(-3, -2, -1, 0, 1, 2));
  EXPECT_THAT(values(Op::kCeil, {x}), ElementsAre(-2, -1, 0, 1, 2, 3));
}

TEST(ReferenceUnary, WrapsIntegers) {
  EXPECT_THAT(values(Op::kNegate, {i32({5, kMin32})}), ElementsAre(-5, kMin32));
  EXPECT_THAT(values(Op::kAbs, {i32({-5, kMin32})}), ElementsAre(5, kMin32));
  EXPECT_THAT(values(Op::kSign, {i32({-5, 0, 7})}), ElementsAre(-1, 0, 1));
  EXPECT_THAT(values(Op::kNegate, {u8({2}, {1, 0})}), ElementsAre(255, 0));
  EXPECT_THAT(values(Op::kNot, {u8({2}, {0, 200})}), ElementsAre(255, 55));
  EXPECT_THAT(values(Op::kNot, {i32({0, -1})}), ElementsAre(-1, 0));
  EXPECT_THAT(values(Op::kNot, {boolean({0, 1})}), ElementsAre(1, 0));
}

TEST(ReferenceUnary, RoundsTheResultToTheDType) {
  const double third = 1.0 / 3.0;
  EXPECT_EQ(values(Op::kExp, {f64({1}, {third})})[0], std::exp(third));
  EXPECT_EQ(values(Op::kExp, {f32({third})})[0],
            static_cast<float>(std::exp(static_cast<double>(static_cast<float>(third)))));
  // 1 + 2^-7 is the bf16 after 1; half an ulp above 1 rounds to even.
  const auto bf16 = [](double x) { return tensor(DType::kBF16, {1}, {x}); };
  EXPECT_THAT(values(Op::kAdd, {bf16(1), bf16(0x1p-8)}), ElementsAre(1));
  EXPECT_THAT(values(Op::kAdd, {bf16(1), bf16(0x1.8p-8)}), ElementsAre(1 + 0x1p-7));
  const auto f16 = [](double x) { return tensor(DType::kF16, {1}, {x}); };
  EXPECT_THAT(values(Op::kAdd, {f16(60000), f16(60000)}), ElementsAre(kInf));
}

TEST(ReferenceUnary, TakesNoElementsAndScalars) {
  EXPECT_THAT(values(Op::kExp, {f32(Shape{0, 3}, {})}), IsEmpty());
  EXPECT_THAT(values(Op::kExp, {f32(Shape{}, {0})}), ElementsAre(1));
}

TEST(ReferenceBinary, ComputesFloats) {
  const HostTensor a = f32({7, -7, 1, kNaN});
  const HostTensor b = f32({2, 2, 0, 1});
  EXPECT_THAT(values(Op::kAdd, {a, b}), ElementsAre(9, -5, 1, IsNan()));
  EXPECT_THAT(values(Op::kSubtract, {a, b}), ElementsAre(5, -9, 1, IsNan()));
  EXPECT_THAT(values(Op::kMultiply, {a, b}), ElementsAre(14, -14, 0, IsNan()));
  EXPECT_THAT(values(Op::kDivide, {a, b}), ElementsAre(3.5, -3.5, kInf, IsNan()));
  EXPECT_THAT(values(Op::kRemainder, {a, b}), ElementsAre(1, -1, IsNan(), IsNan()));
  EXPECT_THAT(values(Op::kPower, {a, b}), ElementsAre(49, 49, 1, IsNan()));
}

TEST(ReferenceBinary, MaximumAndMinimumOfNaNAreNaN) {
  const HostTensor a = f32({1, kNaN, 1, -kInf});
  const HostTensor b = f32({2, 1, kNaN, kInf});
  EXPECT_THAT(values(Op::kMaximum, {a, b}), ElementsAre(2, IsNan(), IsNan(), kInf));
  EXPECT_THAT(values(Op::kMinimum, {a, b}), ElementsAre(1, IsNan(), IsNan(), -kInf));
}

TEST(ReferenceBinary, MaximumAndMinimumOfBothZerosAreTheSecond) {
  const HostTensor a = f32({0, -0.0});
  const HostTensor b = f32({-0.0, 0});
  for (const Op op : {Op::kMaximum, Op::kMinimum})
    EXPECT_THAT(values(Op::kDivide, {f32({1, 1}), evaluate(op, {a, b})}), ElementsAre(-kInf, kInf))
        << name_of(op);
}

TEST(ReferenceBinary, DividesIntegersWithoutTraps) {
  const HostTensor a = i32({7, -7, 7, 0, kMin32, kMin32});
  const HostTensor b = i32({2, 2, 0, 0, -1, 0});
  EXPECT_THAT(values(Op::kDivide, {a, b}), ElementsAre(3, -3, -1, -1, kMin32, -1));
  EXPECT_THAT(values(Op::kRemainder, {a, b}), ElementsAre(1, -1, 7, 0, 0, kMin32));
  EXPECT_THAT(values(Op::kDivide, {u8({2}, {200, 200}), u8({2}, {0, 3})}), ElementsAre(255, 66));
  const HostTensor lowest = HostTensor::scalar(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(evaluate(Op::kDivide, {lowest, i64_scalar(-1)}).as<std::int64_t>()[0],
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(evaluate(Op::kRemainder, {lowest, i64_scalar(-1)}).as<std::int64_t>()[0], 0);
}

TEST(ReferenceBinary, WrapsIntegersInTheirWidth) {
  EXPECT_THAT(values(Op::kAdd, {i32({kMax32}), i32({1})}), ElementsAre(kMin32));
  EXPECT_THAT(values(Op::kSubtract, {i32({kMin32}), i32({1})}), ElementsAre(kMax32));
  EXPECT_THAT(values(Op::kMultiply, {i32({65536}), i32({65537})}), ElementsAre(65536));
  EXPECT_THAT(values(Op::kSubtract, {u8({1}, {3}), u8({1}, {5})}), ElementsAre(254));
  const HostTensor highest = HostTensor::scalar(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(evaluate(Op::kAdd, {highest, i64_scalar(1)}).as<std::int64_t>()[0],
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(evaluate(Op::kMultiply, {highest, i64_scalar(2)}).as<std::int64_t>()[0], -2);
}

TEST(ReferenceBinary, CombinesBits) {
  EXPECT_THAT(values(Op::kAnd, {i32({12, -1}), i32({10, 5})}), ElementsAre(8, 5));
  EXPECT_THAT(values(Op::kOr, {i32({12, -1}), i32({10, 5})}), ElementsAre(14, -1));
  EXPECT_THAT(values(Op::kXor, {i32({12, -1}), i32({10, 5})}), ElementsAre(6, -6));
  EXPECT_THAT(values(Op::kXor, {boolean({0, 1, 1}), boolean({1, 1, 0})}), ElementsAre(1, 0, 1));
}

TEST(ReferenceBinary, ShiftsBeyondTheWidthGiveZero) {
  const HostTensor amounts = i32({0, 1, 31, 32, -1});
  const HostTensor ones = i32({-1, -1, -1, -1, -1});
  EXPECT_THAT(values(Op::kShiftLeft, {ones, amounts}), ElementsAre(-1, -2, kMin32, 0, 0));
  EXPECT_THAT(values(Op::kShiftRightLogical, {ones, amounts}), ElementsAre(-1, kMax32, 1, 0, 0));
  EXPECT_THAT(values(Op::kShiftLeft, {u8({2}, {255, 255}), u8({2}, {4, 8})}), ElementsAre(240, 0));
  EXPECT_EQ(
      evaluate(Op::kShiftRightLogical, {i64_scalar(-1), i64_scalar(63)}).as<std::int64_t>()[0], 1);
  EXPECT_EQ(evaluate(Op::kShiftLeft, {i64_scalar(-1), i64_scalar(64)}).as<std::int64_t>()[0], 0);
}

TEST(ReferenceCompare, NothingComparesWithNaNButNotEqual) {
  const HostTensor a = f32({1, 2, kNaN, kNaN});
  const HostTensor b = f32({2, 2, 1, kNaN});
  EXPECT_THAT(values(Op::kEqual, {a, b}), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(values(Op::kNotEqual, {a, b}), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(values(Op::kLess, {a, b}), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(values(Op::kLessEqual, {a, b}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(values(Op::kGreater, {a, b}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(values(Op::kGreaterEqual, {a, b}), ElementsAre(0, 1, 0, 0));
}

TEST(ReferenceCompare, ComparesLargeIntegersExactly) {
  const std::int64_t big = std::int64_t{1} << 60;
  EXPECT_THAT(values(Op::kLess, {i64_scalar(big), i64_scalar(big + 1)}), ElementsAre(1));
  EXPECT_THAT(values(Op::kEqual, {i64_scalar(big), i64_scalar(big + 1)}), ElementsAre(0));
  EXPECT_THAT(values(Op::kGreater, {i64_scalar(-1), i64_scalar(1)}), ElementsAre(0));
  EXPECT_THAT(values(Op::kGreaterEqual, {boolean({1}), boolean({0})}), ElementsAre(1));
}

TEST(ReferenceSelect, PicksByElement) {
  EXPECT_THAT(values(Op::kSelect, {boolean({1, 0, 1}), f32({1, 2, kNaN}), f32({4, kNaN, 6})}),
              ElementsAre(1, NanSensitiveDoubleEq(kNaN), IsNan()));
  EXPECT_THAT(values(Op::kSelect, {boolean({1, 0}), i32({1, 2}), i32({3, 4})}), ElementsAre(1, 4));
}

Attrs to(DType dtype) {
  Attrs attrs;
  attrs.set_dtype(dtype);
  return attrs;
}

TEST(ReferenceConvert, TruncatesAndSaturatesFloats) {
  const HostTensor x = f32({1.9, -1.9, 1e20, -1e20, kInf, kNaN});
  EXPECT_THAT(values(Op::kConvert, {x}, to(DType::kI32)),
              ElementsAre(1, -1, kMax32, kMin32, kMax32, 0));
  EXPECT_THAT(values(Op::kConvert, {x}, to(DType::kU8)), ElementsAre(1, 0, 255, 0, 255, 0));
  EXPECT_EQ(evaluate(Op::kConvert, {f32({kInf})}, to(DType::kI64)).as<std::int64_t>()[0],
            std::numeric_limits<std::int64_t>::max());
}

TEST(ReferenceConvert, MakesBoolOfWhatIsNotZero) {
  EXPECT_THAT(values(Op::kConvert, {f32({0, -0.0, 0.5, kNaN})}, to(DType::kBool)),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(values(Op::kConvert, {i32({0, 256})}, to(DType::kBool)), ElementsAre(0, 1));
  EXPECT_THAT(values(Op::kConvert, {boolean({0, 1})}, to(DType::kF32)), ElementsAre(0, 1));
}

TEST(ReferenceConvert, RoundsOnce) {
  // 2^60 + 2^36 + 1 lies just above the middle of two f32 neighbours; through f64 it would be the
  // middle itself and round down to even.
  const std::int64_t x = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
  EXPECT_THAT(values(Op::kConvert, {i64_scalar(x)}, to(DType::kF32)), ElementsAre(0x1.000002p60));
  EXPECT_THAT(values(Op::kConvert, {f32({300, -1})}, to(DType::kBF16)), ElementsAre(300, -1));
  EXPECT_THAT(values(Op::kConvert, {i32({300, -1})}, to(DType::kU8)), ElementsAre(44, 255));
}

}  // namespace
}  // namespace lockstep
