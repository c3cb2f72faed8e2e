#include "data/images/augmentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/base/rng.h"

namespace lockstep {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Grey; every pixel is different, as far as bytes go, and none is black.
Raster counted(std::int64_t height, std::int64_t width) {
  Raster out{.height = height, .width = width, .channels = 1};
  for (std::int64_t i = 0; i < height * width; ++i)
    out.pixels.push_back(static_cast<std::uint8_t>(1 + i % 255));
  return out;
}

std::array<std::uint32_t, kBoxWords> words_of(std::uint64_t seed) {
  std::array<std::uint32_t, kBoxWords> out;
  random_bits({.seed = seed}, 0, out);
  return out;
}

TEST(Augmentation, CutsBoxesWithBlackAround) {
  const Raster image = counted(2, 3);  // 1 2 3 / 4 5 6
  EXPECT_EQ(cropped(image, {0, 1, 2, 2}).pixels, (Bytes{2, 3, 5, 6}));
  EXPECT_EQ(cropped(image, {-1, -1, 2, 3}).pixels, (Bytes{0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(cropped(image, {1, 2, 2, 2}).pixels, (Bytes{6, 0, 0, 0}));
  EXPECT_EQ(cropped(image, {0, 3, 1, 2}).pixels, (Bytes{0, 0}));
  const Raster colours = cropped({1, 2, 3, {1, 2, 3, 4, 5, 6}}, {0, 1, 1, 2});
  EXPECT_EQ(colours.pixels, (Bytes{4, 5, 6, 0, 0, 0}));
}

// torchvision: Resize(256) of 375 x 500 gives 256 x 341.
TEST(Augmentation, KeepsTheRatioOfSides) {
  using Size = std::array<std::int64_t, 2>;
  EXPECT_EQ(with_shorter_side(375, 500, 256), (Size{256, 341}));
  EXPECT_EQ(with_shorter_side(500, 375, 256), (Size{341, 256}));
  EXPECT_EQ(with_shorter_side(28, 28, 32), (Size{32, 32}));
}

TEST(Augmentation, FitsTheCentre) {
  // Nothing to resize; of 3 columns too many 2 are cut left, as round(1.5) is 2.
  EXPECT_EQ(fitted(counted(1, 4), 1, 1, {}).pixels, Bytes{3});
  EXPECT_EQ(fitted(counted(2, 2), 2, 2, {}).pixels, counted(2, 2).pixels);
  for (const auto& [height, width] : {std::pair{5, 40}, {40, 5}, {16, 16}, {100, 31}, {1, 1}}) {
    const Raster out = fitted(counted(height, width), 16, 8, {});
    EXPECT_EQ(out.height, 16);
    EXPECT_EQ(out.width, 8);
    EXPECT_THAT(out.pixels, testing::Each(testing::Gt(0))) << "nothing but the image is seen";
  }
  const Raster small = fitted(counted(8, 8), 4, 4, {.resize = 2});
  EXPECT_EQ(small.pixels[0], 0) << "asked for fewer pixels than are cut out";
}

TEST(Augmentation, ResizesWhatIsSeenOnly) {
  for (const auto& [height, width] : {std::pair{23, 41}, {41, 23}, {9, 9}, {3, 50}})
    for (const Interpolation interpolation : {Interpolation::kBilinear, Interpolation::kBicubic}) {
      const Raster image = counted(height, width);
      const auto size = with_shorter_side(height, width, 13);
      const ImageBox all{.right = static_cast<double>(width),
                         .bottom = static_cast<double>(height)};
      const Raster whole = resize(image, all, size[0], size[1], interpolation);
      const PixelBox centre{.top = static_cast<std::int64_t>(std::nearbyint((size[0] - 10) / 2.0)),
                            .left = static_cast<std::int64_t>(std::nearbyint((size[1] - 8) / 2.0)),
                            .height = 10,
                            .width = 8};
      EXPECT_EQ(fitted(image, 10, 8, {.resize = 13, .interpolation = interpolation}).pixels,
                cropped(whole, centre).pixels)
          << height << " x " << width;
    }
  // All of it would be 224 x 224 million pixels.
  const Raster thin = fitted(counted(1'000'000, 1), 224, 224, {});
  EXPECT_EQ(thin.pixels.size(), 224 * 224);
  EXPECT_THAT(thin.pixels, testing::Each(testing::Gt(0)));
  EXPECT_EQ(fitted(counted(1, 1'000'000), 224, 224, {.resize = 256}).pixels.size(), 224 * 224);
}

TEST(Augmentation, DrawsBoxesWithinBounds) {
  const Augmentation bounds{.crop_scale = {0.2, 0.5}, .crop_ratio = {0.5, 2}};
  std::set<std::int64_t> tops, heights;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const PixelBox box = random_box(100, 120, bounds, words_of(seed));
    EXPECT_GE(box.top, 0);
    EXPECT_GE(box.left, 0);
    EXPECT_LE(box.top + box.height, 100);
    EXPECT_LE(box.left + box.width, 120);
    const double area = static_cast<double>(box.height * box.width) / 12000;
    EXPECT_GT(area, 0.19);  // sides are rounded
    EXPECT_LT(area, 0.51);
    const double ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
    EXPECT_GT(ratio, 0.48);
    EXPECT_LT(ratio, 2.08);
    tops.insert(box.top);
    heights.insert(box.height);
  }
  EXPECT_GT(tops.size(), 40U);
  EXPECT_GT(heights.size(), 40U);
}

/// torchvision 0.15, RandomResizedCrop.get_params, with uniform numbers in [0, 1) in place of its
/// generator's: area, logarithm of the ratio, top and left of each try.
PixelBox torchvision_box(double height, double width, const Augmentation& bounds,
                         const std::array<std::uint32_t, kBoxWords>& words) {
  const auto uniform = [&](std::size_t i, double low, double high) {
    return low + (high - low) * (words[i] / 4294967296.0);
  };
  const auto box = [](double top, double left, double h, double w) {
    return PixelBox{static_cast<std::int64_t>(top), static_cast<std::int64_t>(left),
                    static_cast<std::int64_t>(h), static_cast<std::int64_t>(w)};
  };
  for (std::size_t i = 0; i < kBoxWords; i += 4) {
    const double area = height * width * uniform(i, bounds.crop_scale[0], bounds.crop_scale[1]);
    const double ratio =
        std::exp(uniform(i + 1, std::log(bounds.crop_ratio[0]), std::log(bounds.crop_ratio[1])));
    const double w = std::rint(std::sqrt(area * ratio)), h = std::rint(std::sqrt(area / ratio));
    if (0 < w && w <= width && 0 < h && h <= height)
      return box(std::floor(uniform(i + 2, 0, height - h + 1)),
                 std::floor(uniform(i + 3, 0, width - w + 1)), h, w);
  }
  double w = width, h = height;
  if (width / height < bounds.crop_ratio[0])
    h = std::rint(w / bounds.crop_ratio[0]);
  else if (width / height > bounds.crop_ratio[1])
    w = std::rint(h * bounds.crop_ratio[1]);
  return box(std::floor((height - h) / 2), std::floor((width - w) / 2), h, w);
}

TEST(Augmentation, DrawsBoxesAsTorchvision) {
  for (const auto& [height, width] : {std::pair{375, 500}, {500, 333}, {32, 32}, {20, 400}, {7, 3}})
    for (std::uint64_t seed = 0; seed < 300; ++seed)
      EXPECT_EQ(random_box(height, width, {}, words_of(seed)),
                torchvision_box(height, width, {}, words_of(seed)))
          << height << " x " << width << ", seed " << seed;
}

TEST(Augmentation, TakesTheCentreWhereNoBoxFits) {
  const Augmentation square{.crop_scale = {1, 1}, .crop_ratio = {1, 1}};
  EXPECT_EQ(random_box(10, 100, square, words_of(1)), (PixelBox{0, 45, 10, 10}));
  EXPECT_EQ(random_box(101, 10, square, words_of(1)), (PixelBox{45, 0, 10, 10}));
  EXPECT_EQ(random_box(10, 10, square, words_of(1)), (PixelBox{0, 0, 10, 10}));
}

TEST(Augmentation, IsAFunctionOfKeyAndIndex) {
  const Augmentation all{.random_resized_crop = true, .shift = 2, .horizontal_flip = 0.5};
  const Raster image = counted(40, 50);
  const auto draw = [&](std::int64_t index, std::uint64_t seed, std::int64_t epoch) {
    return augmented(image, 24, 24, all, index, {.seed = seed, .epoch = epoch}).pixels;
  };
  EXPECT_EQ(draw(3, 1, 0), draw(3, 1, 0));
  EXPECT_NE(draw(3, 1, 0), draw(4, 1, 0));
  EXPECT_NE(draw(3, 1, 0), draw(3, 2, 0));
  EXPECT_NE(draw(3, 1, 0), draw(3, 1, 1));
}

TEST(Augmentation, LeavesEvaluationAlone) {
  const Augmentation all{.random_resized_crop = true, .shift = 2, .horizontal_flip = 1};
  const Raster image = counted(24, 24);
  EXPECT_EQ(augmented(image, 24, 24, all, 3, {.seed = 1}).pixels, image.pixels);
}

// All places come up, and what is drawn is the image at one of them.
TEST(Augmentation, ShiftsEachWay) {
  const Raster image = counted(4, 4);
  std::set<Bytes> seen;
  for (std::int64_t index = 0; index < 300; ++index)
    seen.insert(augmented(image, 4, 4, {.shift = 1}, index, {.seed = 1, .epoch = 0}).pixels);
  std::set<Bytes> places;
  for (std::int64_t top = -1; top <= 1; ++top)
    for (std::int64_t left = -1; left <= 1; ++left)
      places.insert(cropped(image, {top, left, 4, 4}).pixels);
  EXPECT_EQ(seen, places);
}

TEST(Augmentation, FlipsWithTheProbability) {
  const Raster image = counted(1, 3);
  int flipped = 0;
  for (std::int64_t index = 0; index < 1000; ++index) {
    const Bytes out =
        augmented(image, 1, 3, {.horizontal_flip = 0.25}, index, {.seed = 7, .epoch = 2}).pixels;
    flipped += out == Bytes{3, 2, 1} ? 1 : 0;
    EXPECT_THAT(out, testing::AnyOf(Bytes{3, 2, 1}, Bytes{1, 2, 3}));
  }
  EXPECT_NEAR(flipped, 250, 50);
}

// Fixed, so that another version of this code draws what was trained on.
TEST(Augmentation, DrawsWhatItDrewBefore) {
  const PixelBox box = random_box(100, 200, {}, words_of(11));
  EXPECT_EQ(box, (PixelBox{42, 66, 48, 43}));
  const auto drawn = [](std::int64_t index) {
    return augmented(counted(1, 6), 1, 6, {.shift = 2, .horizontal_flip = 0.5}, index,
                     {.seed = 3, .epoch = 1})
        .pixels;
  };
  EXPECT_EQ(drawn(2), (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(drawn(5), (Bytes{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(drawn(9), (Bytes{3, 4, 5, 6, 0, 0}));
  EXPECT_EQ(drawn(37), (Bytes{4, 3, 2, 1, 0, 0}));
}

}  // namespace
}  // namespace lockstep
