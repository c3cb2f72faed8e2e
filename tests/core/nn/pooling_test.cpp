// Pooling on numbers that can be checked by hand.
#include "core/nn/pooling.h"

#include "core/base/error.h"
#include "tests/core/nn/layer_fixture.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

using Pooling = LayerTest;

// Rows 1 2 3 / 4 5 6 / 7 8 9.
const Shape kThreeByThree{1, 1, 3, 3};

TEST_F(Pooling, WindowsDoNotOverlapByDefault) {
  EXPECT_THAT(value_of(MaxPool2d{}(counting(kThreeByThree))), ElementsAre(5));
  EXPECT_THAT(value_of(AvgPool2d{}(counting(kThreeByThree))), ElementsAre(3));
}

TEST_F(Pooling, PaddingIsNeverTheLargestAndCountsAsZeros) {
  EXPECT_THAT(value_of(MaxPool2d{.padding = 1}(counting(kThreeByThree, -1))),
              ElementsAre(-1, -2, -4, -5));
  EXPECT_THAT(value_of(AvgPool2d{.padding = 1}(counting(kThreeByThree))),
              ElementsAre(0.25F, 1.25F, 2.75F, 7.0F));
}

TEST_F(Pooling, OfTheWholeImageGivesOneNumberAChannel) {
  const Tensor y = GlobalAvgPool2d{}(counting(Shape{2, 1, 1, 2}));
  EXPECT_EQ(y.shape(), (Shape{2, 1, 1, 1}));
  EXPECT_THAT(value_of(y), ElementsAre(1.5F, 3.5F));
  EXPECT_EQ(GlobalAvgPool2d{.flatten = true}(counting(Shape{2, 3, 4, 4})).shape(), (Shape{2, 3}));
}

TEST_F(Pooling, KeepsTheDtypeOfItsInput) {
  const Tensor x = convert(counting(kThreeByThree), DType::kBF16);
  EXPECT_EQ(MaxPool2d{}(x).dtype(), DType::kBF16);
  EXPECT_EQ(AvgPool2d{}(x).dtype(), DType::kBF16);
  EXPECT_EQ(GlobalAvgPool2d{}(x).dtype(), DType::kBF16);
}

TEST_F(Pooling, RefusesWhatIsNoImageWithTheLine) {
  const Tensor row = counting(Shape{3, 3});
  EXPECT_THAT(
      [&] { (void)GlobalAvgPool2d{}(row); },
      testing::ThrowsMessage<Error>(fmt::format(
          "pooling_test.cpp:{}: global average pooling takes a float [N,C,H,W], not f32[3,3]",
          __LINE__ - 4)));
  EXPECT_THAT([&] { (void)MaxPool2d{}(row); },
              testing::ThrowsMessage<Error>(
                  testing::HasSubstr(fmt::format("pooling_test.cpp:{}", __LINE__ - 2))));
}

}  // namespace
}  // namespace lockstep
