#include "trainer/hub/grow_positions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

/// PyTorch computes in f32: some roundings of values of this size.
constexpr float kRounding = 4e-6F;

void expect_near(const HostTensor& found, const std::vector<float>& expected) {
  const auto values = found.as<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], kRounding * std::max(1.0F, std::abs(expected[i]))) << i;
}

HostTensor four_positions() {
  return HostTensor::of<float>(Shape{4, 2}, std::vector<float>{1, 10, 2, -4, 4, 0.5F, -1, 3});
}

TEST(GrowPositions, CopyCutsOrRepeats) {
  expect_near(grow_text_positions(four_positions(), 2, GrowPositions::kCopy), {1, 10, 2, -4});
  expect_near(grow_text_positions(four_positions(), 6, GrowPositions::kCopy),
              {1, 10, 2, -4, 4, 0.5F, -1, 3, 1, 10, 2, -4});
}

// Expected values: torch 1.13, interpolate(x.T[None], size, mode="linear", align_corners=False).
TEST(GrowPositions, TextInterpolatesAsPyTorchDoes) {
  expect_near(grow_text_positions(four_positions(), 6, GrowPositions::kInterpolate),
              {1, 10, 1.5F, 3, 2.3333334F, -3.25F, 3.6666667F, -0.24999982F, 1.5F, 1.75F, -1, 3});
  expect_near(grow_text_positions(four_positions(), 3, GrowPositions::kInterpolate),
              {1.1666667F, 7.6666665F, 3, -1.75F, -0.16666667F, 2.5833333F});
}

/// The class token, then a grid of 3 x 3 patches: i^1.5.
HostTensor nine_patches() {
  std::vector<float> values{-7};
  for (int i = 0; i < 9; ++i) values.push_back(static_cast<float>(std::pow(i, 1.5)));
  return HostTensor::of<float>(Shape{1, 10, 1}, values);
}

// Expected values: torch 1.13, interpolate(grid, size, mode="bicubic", align_corners=False).
TEST(GrowPositions, ImagesInterpolateAsPyTorchDoes) {
  expect_near(grow_image_positions(nine_patches(), 17),
              {-7, -0.43544996F, -0.0063525410F, 1.2171066F, 2.3532236F, 2.1333664F, 3.3012788F,
               5.4798689F, 7.0991015F, 8.9487953F, 10.943458F, 14.250119F, 16.485790F, 15.099198F,
               17.412735F, 21.207451F, 23.748634F});
  expect_near(grow_image_positions(nine_patches(), 5),
              {-7, 1.0803730F, 3.8902194F, 13.416672F, 19.562361F});
}

TEST(GrowPositions, ImagesNeedASquareOfPatches) {
  EXPECT_EQ(
      usage_error([] { grow_image_positions(nine_patches(), 12); }),
      "'model.grow_positions' needs a square of patches, and the model's 12 positions are the "
      "class token and 11 patches");
}

}  // namespace
}  // namespace lockstep
