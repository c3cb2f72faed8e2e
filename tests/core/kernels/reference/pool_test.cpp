#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/kernels/reference/evaluate.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsNan;

/// Window, stride, padding (top, bottom, left, right).
Attrs pool(Attrs::Ints window, Attrs::Ints stride, Attrs::Ints padding = {0, 0, 0, 0}) {
  return {{Attr::kWindow, std::move(window)},
          {Attr::kStride, std::move(stride)},
          {Attr::kPadding, std::move(padding)}};
}

const HostTensor kPooledImage = f32({1, 1, 3, 3}, {1, 2, 3, 6, 5, 4, 7, 9, 8});

TEST(ReferenceMaxPool, TakesTheLargestOfEachWindow) {
  EXPECT_THAT(values(Op::kMaxPool, {kPooledImage}, pool({2, 2}, {1, 1})), ElementsAre(6, 5, 9, 9));
  EXPECT_THAT(values(Op::kMaxPool, {kPooledImage}, pool({1, 3}, {2, 1})), ElementsAre(3, 9));
}

TEST(ReferenceMaxPool, PaddingNeverWins) {
  const HostTensor x = f32({1, 1, 2, 2}, {-1, -2, -3, -4});
  EXPECT_THAT(values(Op::kMaxPool, {x}, pool({2, 2}, {2, 2}, {1, 1, 1, 1})),
              ElementsAre(-1, -2, -3, -4));
  EXPECT_THAT(values(Op::kMaxPool, {f32({1, 1, 0, 1}, {})}, pool({2, 1}, {1, 1}, {1, 1, 0, 0})),
              ElementsAre(-kInf));
}

TEST(ReferenceMaxPool, PropagatesNaN) {
  EXPECT_THAT(values(Op::kMaxPool, {f32({1, 1, 1, 3}, {1, kNaN, 5})}, pool({1, 2}, {1, 1})),
              ElementsAre(IsNan(), IsNan()));
}

TEST(ReferenceMaxPoolGrad, GoesToTheFirstMaximumOfEachWindow) {
  EXPECT_THAT(values(Op::kMaxPoolGrad, {kPooledImage, f32({1, 1, 2, 2}, {1, 10, 100, 1000})},
                     pool({2, 2}, {1, 1})),
              ElementsAre(0, 0, 0, 1, 10, 0, 0, 1100, 0));
  EXPECT_THAT(values(Op::kMaxPoolGrad, {f32({1, 1, 1, 3}, {5, 5, 5}), f32({1, 1, 1, 1}, {2})},
                     pool({1, 3}, {1, 1})),
              ElementsAre(2, 0, 0));
  EXPECT_THAT(values(Op::kMaxPoolGrad, {f32({1, 1, 1, 3}, {5, kNaN, kNaN}), f32({1, 1, 1, 1}, {2})},
                     pool({1, 3}, {1, 1})),
              ElementsAre(0, 2, 0));
  EXPECT_THAT(values(Op::kMaxPoolGrad, {f32({1, 1, 0, 1}, {}), f32({1, 1, 1, 1}, {2})},
                     pool({2, 1}, {1, 1}, {1, 1, 0, 0})),
              IsEmpty());
}

TEST(ReferenceAvgPool, DividesByTheWholeWindow) {
  EXPECT_THAT(values(Op::kAvgPool, {kPooledImage}, pool({2, 2}, {1, 1})),
              ElementsAre(3.5, 3.5, 6.75, 6.5));
  EXPECT_THAT(values(Op::kAvgPool, {f32({1, 1, 1, 1}, {8})}, pool({2, 2}, {1, 1}, {1, 0, 1, 0})),
              ElementsAre(2));
}

TEST(ReferenceAvgPoolGrad, SharesEachGradientAmongItsWindow) {
  Attrs attrs = pool({2, 2}, {1, 1});
  attrs.set(Attr::kShape, {1, 1, 3, 3});
  EXPECT_THAT(values(Op::kAvgPoolGrad, {f32({1, 1, 2, 2}, {4, 40, 400, 4000})}, attrs),
              ElementsAre(1, 11, 10, 101, 1111, 1010, 100, 1100, 1000));
  attrs = pool({1, 2}, {1, 2}, {0, 0, 1, 0});
  attrs.set(Attr::kShape, {1, 1, 1, 3});
  EXPECT_THAT(values(Op::kAvgPoolGrad, {f32({1, 1, 1, 2}, {2, 20})}, attrs),
              ElementsAre(1, 10, 10));
}

TEST(ReferencePool, TakesNoImages) {
  EXPECT_THAT(values(Op::kMaxPool, {f32({0, 1, 3, 3}, {})}, pool({2, 2}, {1, 1})), IsEmpty());
  EXPECT_THAT(values(Op::kAvgPool, {f32({2, 0, 3, 3}, {})}, pool({2, 2}, {1, 1})), IsEmpty());
}

}  // namespace
}  // namespace lockstep
