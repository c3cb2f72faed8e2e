// Images made to fit a model, and changed at random while it trains. What is random is a function
// of the sample's index and the key that it is drawn with (data/samples/dataset.h), of nothing
// else.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "data/images/raster.h"
#include "data/images/resize.h"
#include "data/samples/dataset.h"

namespace lockstep {

struct Augmentation {
  /// The shorter side of the resized image from which the centre is cut; 0: the smallest that
  /// covers the cut.
  std::int64_t resize = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  /// In training, used instead of `resize`: a part of the image, of crop_scale of its area, which
  /// is crop_ratio times as wide as high, drawn as by torchvision's RandomResizedCrop.
  bool random_resized_crop = false;
  std::array<double, 2> crop_scale = {0.08, 1.0};
  std::array<double, 2> crop_ratio = {3.0 / 4, 4.0 / 3};
  std::int64_t shift = 0;      ///< in training, up to this many pixels each way; filled with black
  double horizontal_flip = 0;  ///< the probability, in training
};

/// The pixels in the box; black where it reaches outside of the image.
Raster cropped(const Raster& image, const PixelBox& box);

/// The size {height, width} of an image whose shorter side becomes `shorter`, rounded as by
/// torchvision's Resize.
std::array<std::int64_t, 2> with_shorter_side(std::int64_t height, std::int64_t width,
                                              std::int64_t shorter);

/// The centre of the resized image.
Raster fitted(const Raster& image, std::int64_t height, std::int64_t width,
              const Augmentation& augmentation);

/// Number of random words that random_box() takes: four for each of ten tries.
inline constexpr std::size_t kBoxWords = 40;

/// A box of an image of height x width whose area and ratio lie within the bounds, uniform in the
/// area, in the logarithm of the ratio and in its place. After ten tries that do not fit, the
/// largest centred box of an allowed ratio.
PixelBox random_box(std::int64_t height, std::int64_t width, const Augmentation& augmentation,
                    std::span<const std::uint32_t, kBoxWords> words);

/// The image of sample `index`: fitted, and in training changed at random.
Raster augmented(const Raster& image, std::int64_t height, std::int64_t width,
                 const Augmentation& augmentation, std::int64_t index, const DrawKey& key);

}  // namespace lockstep
