#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/kernels/reference/evaluate.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const HostTensor kRows = f32({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(ReferenceIota, CountsAlongItsAxis) {
  Attrs attrs{{Attr::kShape, {2, 3}}, {Attr::kAxis, {1}}};
  attrs.set_dtype(DType::kI32);
  EXPECT_THAT(values(Op::kIota, {}, attrs), ElementsAre(0, 1, 2, 0, 1, 2));
  attrs.set_int(Attr::kAxis, 0);
  attrs.set_dtype(DType::kF32);
  EXPECT_THAT(values(Op::kIota, {}, attrs), ElementsAre(0, 0, 0, 1, 1, 1));
  attrs.set(Attr::kShape, {2, 0});
  EXPECT_THAT(values(Op::kIota, {}, attrs), IsEmpty());
}

TEST(ReferenceIota, WrapsInItsDType) {
  Attrs attrs{{Attr::kShape, {257}}, {Attr::kAxis, {0}}};
  attrs.set_dtype(DType::kU8);
  EXPECT_EQ(values(Op::kIota, {}, attrs).back(), 0);
}

TEST(ReferenceBroadcast, RepeatsSizeOneAndNewDimensions) {
  EXPECT_THAT(values(Op::kBroadcast, {f32({1, 2})}, {{Attr::kShape, {2, 2}}, {Attr::kDims, {1}}}),
              ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(values(Op::kBroadcast, {f32({1, 2})}, {{Attr::kShape, {2, 2}}, {Attr::kDims, {0}}}),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(values(Op::kBroadcast, {f32({2, 1}, {1, 2})},
                     {{Attr::kShape, {2, 3}}, {Attr::kDims, {0, 1}}}),
              ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(values(Op::kBroadcast, {f32(Shape{}, {7})}, {{Attr::kShape, {3}}, {Attr::kDims, {}}}),
              ElementsAre(7, 7, 7));
  EXPECT_THAT(values(Op::kBroadcast, {f32({1})}, {{Attr::kShape, {0}}, {Attr::kDims, {0}}}),
              IsEmpty());
}

TEST(ReferenceReshape, KeepsRowMajorOrder) {
  EXPECT_THAT(values(Op::kReshape, {kRows}, {{Attr::kShape, {3, 2}}}),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(ReferenceTranspose, PermutesDimensions) {
  EXPECT_THAT(values(Op::kTranspose, {kRows}, {{Attr::kDims, {1, 0}}}),
              ElementsAre(1, 4, 2, 5, 3, 6));
  const HostTensor x = i32({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  const HostTensor y = evaluate(Op::kTranspose, {x}, {{Attr::kDims, {2, 0, 1}}});
  EXPECT_EQ(y.shape(), (Shape{3, 2, 1}));
  EXPECT_THAT(to_doubles(y), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(ReferenceSlice, TakesEveryStridethElement) {
  EXPECT_THAT(values(Op::kSlice, {kRows},
                     {{Attr::kStart, {0, 1}}, {Attr::kLimit, {2, 3}}, {Attr::kStride, {1, 1}}}),
              ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(values(Op::kSlice, {kRows},
                     {{Attr::kStart, {1, 0}}, {Attr::kLimit, {2, 3}}, {Attr::kStride, {1, 2}}}),
              ElementsAre(4, 6));
  EXPECT_THAT(values(Op::kSlice, {kRows},
                     {{Attr::kStart, {1, 2}}, {Attr::kLimit, {1, 3}}, {Attr::kStride, {1, 1}}}),
              IsEmpty());
}

TEST(ReferenceDynamicSlice, ClampsItsStart) {
  const Attrs block{{Attr::kShape, {1, 2}}};
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return values(Op::kDynamicSlice, {kRows, i64_scalar(row), i64_scalar(column)}, block);
  };
  EXPECT_THAT(at(0, 1), ElementsAre(2, 3));
  EXPECT_THAT(at(9, 9), ElementsAre(5, 6));
  EXPECT_THAT(at(-9, -9), ElementsAre(1, 2));
}

TEST(ReferenceDynamicUpdateSlice, ClampsItsStart) {
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return values(Op::kDynamicUpdateSlice,
                  {kRows, f32({1, 2}, {8, 9}), i64_scalar(row), i64_scalar(column)});
  };
  EXPECT_THAT(at(0, 1), ElementsAre(1, 8, 9, 4, 5, 6));
  EXPECT_THAT(at(5, 5), ElementsAre(1, 2, 3, 4, 8, 9));
  EXPECT_THAT(at(-5, -5), ElementsAre(8, 9, 3, 4, 5, 6));
}

TEST(ReferencePad, PutsTheValueAround) {
  EXPECT_THAT(
      values(Op::kPad, {f32({1, 2}), f32(Shape{}, {7})}, {{Attr::kLow, {1}}, {Attr::kHigh, {2}}}),
      ElementsAre(7, 1, 2, 7, 7));
  EXPECT_THAT(values(Op::kPad, {f32(Shape{0, 1}, {}), f32(Shape{}, {7})},
                     {{Attr::kLow, {1, 0}}, {Attr::kHigh, {0, 1}}}),
              ElementsAre(7, 7));
}

TEST(ReferenceConcatenate, JoinsAlongItsAxis) {
  const HostTensor column = f32({2, 1}, {8, 9});
  EXPECT_THAT(values(Op::kConcatenate, {kRows, column}, {{Attr::kAxis, {1}}}),
              ElementsAre(1, 2, 3, 8, 4, 5, 6, 9));
  EXPECT_THAT(values(Op::kConcatenate, {f32(Shape{0, 3}, {}), kRows}, {{Attr::kAxis, {0}}}),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(
      values(Op::kConcatenate, {boolean({1}), boolean({0}), boolean({1})}, {{Attr::kAxis, {0}}}),
      ElementsAre(1, 0, 1));
}

TEST(ReferenceGather, TakesAlongItsAxisAndClamps) {
  EXPECT_THAT(values(Op::kGather, {kRows, i32({1, 0, 1})}, {{Attr::kAxis, {0}}}),
              ElementsAre(4, 5, 6, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(values(Op::kGather, {kRows, i64({2}, {-7, 99})}, {{Attr::kAxis, {1}}}),
              ElementsAre(1, 3, 4, 6));
  const HostTensor square =
      evaluate(Op::kGather, {kRows, i32({1, 2}, {0, 1})}, {{Attr::kAxis, {1}}});
  EXPECT_EQ(square.shape(), (Shape{2, 1, 2}));
  EXPECT_THAT(to_doubles(square), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(values(Op::kGather, {kRows, i32(Shape{}, {1})}, {{Attr::kAxis, {0}}}),
              ElementsAre(4, 5, 6));
  EXPECT_THAT(values(Op::kGather, {f32(Shape{0}, {}), i32(Shape{0}, {})}, {{Attr::kAxis, {0}}}),
              IsEmpty());
}

TEST(ReferenceScatterAdd, AddsDuplicatesAndClamps) {
  EXPECT_THAT(values(Op::kScatterAdd, {f32({10, 20, 30}), i32({1, 1, 99}), f32({1, 2, 3})},
                     {{Attr::kAxis, {0}}}),
              ElementsAre(10, 23, 33));
  EXPECT_THAT(values(Op::kScatterAdd, {kRows, i32({2, 2}), f32({2, 2}, {10, 20, 30, 40})},
                     {{Attr::kAxis, {1}}}),
              ElementsAre(1, 2, 33, 4, 5, 76));
  EXPECT_THAT(values(Op::kScatterAdd, {u8({1}, {250}), i32({0, -3}), u8({2}, {5, 5})},
                     {{Attr::kAxis, {0}}}),
              ElementsAre(4));
}

TEST(ReferenceScatterAdd, AddsDuplicatesInAscendingOrder) {
  // In f64: (1 + 1e100) - 1e100 is 0, any order that adds 1 last gives 1.
  EXPECT_THAT(values(Op::kScatterAdd, {f64({1}, {1}), i32({0, 0}), f64({2}, {1e100, -1e100})},
                     {{Attr::kAxis, {0}}}),
              ElementsAre(0));
}

}  // namespace
}  // namespace lockstep
