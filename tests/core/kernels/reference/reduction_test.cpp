#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/kernels/reference/evaluate.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsNan;

Attrs over(Attrs::Ints dims) {
  return {{Attr::kDims, std::move(dims)}};
}
Attrs along(std::int64_t axis) {
  return {{Attr::kAxis, {axis}}};
}

const HostTensor kUnsorted = f32({2, 3}, {1, 5, 3, 4, 2, 6});

TEST(ReferenceReduce, RemovesTheReducedDimensions) {
  EXPECT_THAT(values(Op::kReduceSum, {kUnsorted}, over({1})), ElementsAre(9, 12));
  EXPECT_THAT(values(Op::kReduceSum, {kUnsorted}, over({0})), ElementsAre(5, 7, 9));
  EXPECT_THAT(values(Op::kReduceSum, {kUnsorted}, over({1, 0})), ElementsAre(21));
  EXPECT_THAT(values(Op::kReduceSum, {kUnsorted}, over({})), ElementsAre(1, 5, 3, 4, 2, 6));
  EXPECT_THAT(values(Op::kReduceProduct, {kUnsorted}, over({1})), ElementsAre(15, 48));
  EXPECT_THAT(values(Op::kReduceMax, {kUnsorted}, over({0})), ElementsAre(4, 5, 6));
  EXPECT_THAT(values(Op::kReduceMin, {kUnsorted}, over({0})), ElementsAre(1, 2, 3));
  const HostTensor middle =
      evaluate(Op::kReduceSum, {i32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, over({1}));
  EXPECT_EQ(middle.shape(), (Shape{2, 2}));
  EXPECT_THAT(to_doubles(middle), ElementsAre(4, 6, 12, 14));
}

TEST(ReferenceReduce, OfNothingIsTheNeutralElement) {
  const HostTensor none = f32(Shape{2, 0}, {});
  EXPECT_THAT(values(Op::kReduceSum, {none}, over({1})), ElementsAre(0, 0));
  EXPECT_THAT(values(Op::kReduceProduct, {none}, over({1})), ElementsAre(1, 1));
  EXPECT_THAT(values(Op::kReduceMax, {none}, over({1})), ElementsAre(-kInf, -kInf));
  EXPECT_THAT(values(Op::kReduceMin, {none}, over({1})), ElementsAre(kInf, kInf));
  EXPECT_THAT(values(Op::kReduceSum, {none}, over({0})), IsEmpty());
  EXPECT_THAT(values(Op::kReduceMax, {i32(Shape{0}, {})}, over({0})),
              ElementsAre(std::numeric_limits<std::int32_t>::min()));
  EXPECT_THAT(values(Op::kReduceMax, {u8(Shape{0}, {})}, over({0})), ElementsAre(0));
  EXPECT_THAT(values(Op::kReduceMin, {u8(Shape{0}, {})}, over({0})), ElementsAre(255));
}

TEST(ReferenceReduce, PropagatesNaN) {
  const HostTensor x = f32({3, 2}, {1, kNaN, kNaN, 2, kInf, -kInf});
  EXPECT_THAT(values(Op::kReduceMax, {x}, over({1})), ElementsAre(IsNan(), IsNan(), kInf));
  EXPECT_THAT(values(Op::kReduceMin, {x}, over({1})), ElementsAre(IsNan(), IsNan(), -kInf));
  EXPECT_THAT(values(Op::kReduceSum, {x}, over({1})), ElementsAre(IsNan(), IsNan(), IsNan()));
}

TEST(ReferenceReduce, RoundsASumOnce) {
  // In bf16 each 1 + 2^-8 would round back to 1.
  const HostTensor x = tensor(DType::kBF16, {5}, {1, 0x1p-8, 0x1p-8, 0x1p-8, 0x1p-8});
  EXPECT_THAT(values(Op::kReduceSum, {x}, over({0})), ElementsAre(1 + 0x1p-6));
}

TEST(ReferenceReduce, WrapsIntegers) {
  EXPECT_THAT(values(Op::kReduceSum, {u8({3}, {200, 50, 7})}, over({0})), ElementsAre(1));
  EXPECT_THAT(values(Op::kReduceProduct, {u8({2}, {16, 17})}, over({0})), ElementsAre(16));
}

TEST(ReferenceArgReduce, TakesTheFirstOfEquals) {
  const HostTensor x = f32({2, 3}, {3, 7, 7, 2, 2, 9});
  EXPECT_THAT(values(Op::kArgMax, {x}, along(1)), ElementsAre(1, 2));
  EXPECT_THAT(values(Op::kArgMin, {x}, along(1)), ElementsAre(0, 0));
  EXPECT_THAT(values(Op::kArgMax, {x}, along(0)), ElementsAre(0, 0, 1));
  EXPECT_THAT(values(Op::kArgMin, {i32({5, -5, -5})}, along(0)), ElementsAre(1));
  EXPECT_THAT(values(Op::kArgMax, {f32(Shape{0, 2}, {})}, along(1)), IsEmpty());
}

TEST(ReferenceArgReduce, NaNIsBothLargestAndSmallest) {
  const HostTensor x = f32({kInf, kNaN, -kInf, kNaN});
  EXPECT_THAT(values(Op::kArgMax, {x}, along(0)), ElementsAre(1));
  EXPECT_THAT(values(Op::kArgMin, {x}, along(0)), ElementsAre(1));
}

}  // namespace
}  // namespace lockstep
