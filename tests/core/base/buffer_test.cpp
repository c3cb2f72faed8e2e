#include "core/base/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

TEST(Buffer, HostMemoryIsAlignedAndHasItsSize) {
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 4097}) {
    const BufferPtr buffer = allocate_host(bytes);
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_EQ(buffer->space(), MemorySpace::kHost);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % Buffer::kAlignment, 0U);
    std::memset(buffer->data(), 0xab, bytes);
  }
}

TEST(Buffer, GivesItsMemoryBackOnce) {
  std::byte memory[4];
  int released = 0;
  {
    const auto buffer = std::make_shared<Buffer>(memory, sizeof memory, MemorySpace::kDevice,
                                                 [&](std::byte* data, std::size_t bytes) {
                                                   EXPECT_EQ(data, memory);
                                                   EXPECT_EQ(bytes, sizeof memory);
                                                   ++released;
                                                 });
    const BufferPtr second = buffer;
  }
  EXPECT_EQ(released, 1);
}

TEST(HostTensor, HoldsItsValues) {
  const auto tensor = HostTensor::of<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(tensor.dtype(), DType::kF32);
  EXPECT_THAT(tensor.as<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(tensor.bytes().size(), 16U);
}

TEST(HostTensor, CopiesShareTheBytes) {
  const auto tensor = HostTensor::scalar<std::int64_t>(7);
  const HostTensor copy = tensor;
  copy.as<std::int64_t>()[0] = 8;
  EXPECT_THAT(tensor.as<const std::int64_t>(), ElementsAre(8));
}

TEST(HostTensor, MayBeEmptyInTwoWays) {
  EXPECT_TRUE(HostTensor().empty());
  EXPECT_TRUE(HostTensor().bytes().empty());
  const auto none = HostTensor::of<float>({0, 3}, std::vector<float>{});
  EXPECT_FALSE(none.empty());
  EXPECT_TRUE(none.as<float>().empty());
}

TEST(HostTensor, RefusesAnotherNumberOfValues) {
  EXPECT_THAT(
      [] {
        return HostTensor::of<float>({2, 2}, std::vector<float>{1, 2, 3});
      },
      ThrowsMessage<Error>("3 values given for a tensor of shape [2,2]"));
  EXPECT_THAT([] { return from_doubles(DType::kI32, {2}, std::vector<double>{1}); },
              ThrowsMessage<Error>("1 values given for a tensor of shape [2]"));
}

TEST(HostTensor, RefusesToBeReadAsAnotherType) {
  const auto tensor = HostTensor::scalar(1.0F);
  EXPECT_THAT([&] { return tensor.as<std::int32_t>(); },
              ThrowsMessage<Error>("a f32 tensor was read as i32"));
}

TEST(Doubles, SurviveEveryDtypeThatHoldsThem) {
  const std::vector<double> values = {0, 1, 2, 100};
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI32,
                            DType::kI64, DType::kU8}) {
    EXPECT_EQ(to_doubles(from_doubles(dtype, {4}, values)), values) << name_of(dtype);
  }
  EXPECT_THAT(to_doubles(from_doubles(DType::kBool, {4}, values)), ElementsAre(0, 1, 1, 1));
}

TEST(Doubles, AreRoundedToTheNearest) {
  // Halfway in bf16 plus less than f32 can tell: rounding through f32 would fall to even, down.
  const double above_half = 1.0 + 0x1.0p-8 + 0x1.0p-40;
  EXPECT_THAT(to_doubles(from_doubles(DType::kBF16, {1}, std::vector{above_half})),
              ElementsAre(1.0 + 0x1.0p-7));
  const double above_half_f16 = 1.0 + 0x1.0p-11 + 0x1.0p-40;
  EXPECT_THAT(to_doubles(from_doubles(DType::kF16, {1}, std::vector{above_half_f16})),
              ElementsAre(1.0 + 0x1.0p-10));
  for (const DType dtype : {DType::kI32, DType::kI64, DType::kU8}) {
    EXPECT_THAT(to_doubles(from_doubles(dtype, {3}, std::vector{0.4, 0.6, 2.0})),
                ElementsAre(0, 1, 2))
        << name_of(dtype);
  }
}

TEST(Doubles, AreClampedToTheRangeOfIntegers) {
  const std::vector<double> values = {1e300, -1e300, std::nan("")};
  EXPECT_THAT(from_doubles(DType::kU8, {3}, values).as<std::uint8_t>(), ElementsAre(255, 0, 0));
  EXPECT_THAT(from_doubles(DType::kI32, {3}, values).as<std::int32_t>(),
              ElementsAre(2147483647, -2147483647 - 1, 0));
  using Limits = std::numeric_limits<std::int64_t>;
  EXPECT_THAT(from_doubles(DType::kI64, {3}, values).as<std::int64_t>(),
              ElementsAre(Limits::max(), Limits::min(), 0));
  EXPECT_THAT(from_doubles(DType::kI64, {1}, std::vector{0x1p63}).as<std::int64_t>(),
              ElementsAre(Limits::max()));
}

TEST(Doubles, OverflowToInfinityAndKeepNan) {
  const std::vector<double> values = {1e300, -1e300, std::nan("")};
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const auto out = to_doubles(from_doubles(dtype, {3}, values));
    EXPECT_EQ(out[0], std::numeric_limits<double>::infinity()) << name_of(dtype);
    EXPECT_EQ(out[1], -std::numeric_limits<double>::infinity()) << name_of(dtype);
    EXPECT_TRUE(std::isnan(out[2])) << name_of(dtype);
  }
}

/// The 16-bit neighbours of a value differ from it by no less than what was chosen, and a tie goes
/// to the even pattern.
template <class T>
void expect_rounded_once(double value, float (*decode)(std::uint16_t)) {
  const auto tensor = from_doubles(DTypeOf<T>::value, {}, std::vector{value});
  const std::uint16_t chosen = tensor.template as<T>()[0].bits;
  const double distance = std::abs(decode(chosen) - value);
  RC_PRE(std::isfinite(distance) && (chosen & 0x7fff) != 0);
  for (const int step : {-1, 1}) {
    const auto neighbour = static_cast<std::uint16_t>(chosen + step);
    const double other = std::abs(decode(neighbour) - value);
    RC_ASSERT(distance < other || (distance == other && chosen % 2 == 0));
  }
}

/// Values near ties of 16-bit formats: few leading bits, then a tiny disturbance.
double near_tie() {
  const auto mantissa = *rc::gen::inRange(1, 1 << 12);
  const auto exponent = *rc::gen::inRange(-30, 4);
  const auto disturbance = *rc::gen::element(0.0, 0x1.0p-50, -0x1.0p-50, 0x1.0p-20);
  return std::ldexp(mantissa, exponent) * (1 + disturbance);
}

RC_GTEST_PROP(Doubles, AreRoundedOnceToBf16, ()) {
  expect_rounded_once<BF16>(near_tie(), float_from_bf16);
}

RC_GTEST_PROP(Doubles, AreRoundedOnceToF16, ()) {
  expect_rounded_once<F16>(near_tie(), float_from_f16);
}

}  // namespace
}  // namespace lockstep
