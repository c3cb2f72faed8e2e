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
  /// The shorter side that images get before their centre is cut out; 0: the shortest that covers
  /// what is cut out.
  std::int64_t resize = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  /// In training, instead of that: a part of the image, of crop_scale of its area, which is
  /// crop_ratio times as wide as high, as torchvision's RandomResizedCrop draws it.
  bool random_resized_crop = false;
  std::array<double, 2> crop_scale = {0.08, 1.0};
  std::array<double, 2> crop_ratio = {3.0 / 4, 4.0 / 3};
  std::int64_t shift = 0;      ///< in training, up to so many pixels each way; black comes in
  double horizontal_flip = 0;  ///< the probability, in training
};

/// The box, which is black where it reaches outside of the image.
Raster cropped(const Raster& image, const PixelBox& box);

/// The size of an image whose shorter side becomes `shorter`, as torchvision's Resize rounds it;
/// {height, width}.
std::array<std::int64_t, 2> with_shorter_side(std::int64_t height, std::int64_t width,
                                              std::int64_t shorter);

/// The centre of the resized image.
Raster fitted(const Raster& image, std::int64_t height, std::int64_t width,
              const Augmentation& augmentation);

/// How many random words random_box() takes: four for each of ten tries.
inline constexpr std::size_t kBoxWords = 40;

/// A box of an image of height x width whose area and ratio lie within the bounds, uniform in the
/// area, in the logarithm of the ratio and in its place; after ten tries that do not fit, the
/// largest in the centre whose ratio does.
PixelBox random_box(std::int64_t height, std::int64_t width, const Augmentation& augmentation,
                    std::span<const std::uint32_t, kBoxWords> words);

/// The image as sample `index` is drawn: fitted, and in training changed at random.
Raster augmented(const Raster& image, std::int64_t height, std::int64_t width,
                 const Augmentation& augmentation, std::int64_t index, const DrawKey& key);

}  // namespace lockstep
