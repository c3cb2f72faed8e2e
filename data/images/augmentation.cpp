#include "data/images/augmentation.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace lockstep {
namespace {

constexpr int kMirrored = 2;  ///< as in turned_upright()

/// Random words of a sample: whether it is flipped, how far it is shifted down and right, and the
/// box.
constexpr std::size_t kFlip = 0, kDown = 1, kRight = 2, kBox = 3;

double uniform(std::uint32_t word, double low, double high) {
  return low + (high - low) * (static_cast<double>(word) * 0x1.0p-32);
}

/// In [0, count).
std::int64_t below(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>(word * static_cast<std::uint64_t>(count) >> 32);
}

/// Rounds halves to even, as Python's round().
std::int64_t rounded(double x) {
  return static_cast<std::int64_t>(std::nearbyint(x));
}

/// A part of the image after it is resized to height x width.
Raster resized(const Raster& image, std::int64_t height, std::int64_t width,
               Interpolation interpolation, const PixelBox& part) {
  if (image.height == height && image.width == width) return cropped(image, part);
  const ImageBox whole{.right = static_cast<double>(image.width),
                       .bottom = static_cast<double>(image.height)};
  return resize(image, whole, height, width, interpolation, part);
}

/// The part of the box that lies in an image of height x width; not empty for a centred box.
PixelBox within(const PixelBox& box, std::int64_t height, std::int64_t width) {
  PixelBox out{.top = std::max<std::int64_t>(box.top, 0),
               .left = std::max<std::int64_t>(box.left, 0)};
  out.height = std::min(box.top + box.height, height) - out.top;
  out.width = std::min(box.left + box.width, width) - out.left;
  return out;
}

}  // namespace

Raster cropped(const Raster& image, const PixelBox& box) {
  Raster out{.height = box.height, .width = box.width, .channels = image.channels};
  out.pixels.resize(static_cast<std::size_t>(box.height * box.width * image.channels));
  const std::int64_t left = std::max<std::int64_t>(box.left, 0);
  const std::int64_t right = std::min(box.left + box.width, image.width);
  if (left >= right) return out;
  for (std::int64_t y = 0; y < box.height; ++y) {
    const std::int64_t row = box.top + y;
    if (row < 0 || row >= image.height) continue;
    std::copy_n(image.pixels.begin() + (row * image.width + left) * image.channels,
                (right - left) * image.channels,
                out.pixels.begin() + (y * box.width + left - box.left) * image.channels);
  }
  return out;
}

std::array<std::int64_t, 2> with_shorter_side(std::int64_t height, std::int64_t width,
                                              std::int64_t shorter) {
  if (height <= width) return {shorter, shorter * width / height};
  return {shorter * height / width, shorter};
}

Raster fitted(const Raster& image, std::int64_t height, std::int64_t width,
              const Augmentation& augmentation) {
  std::array<std::int64_t, 2> size = {height, image.width * height / image.height};
  if (augmentation.resize > 0)
    size = with_shorter_side(image.height, image.width, augmentation.resize);
  else if (size[1] < width)
    size = {image.height * width / image.width, width};
  const PixelBox centre{.top = rounded(static_cast<double>(size[0] - height) / 2),
                        .left = rounded(static_cast<double>(size[1] - width) / 2),
                        .height = height,
                        .width = width};
  // For an image a pixel wide and a million high, the whole result would not fit in memory.
  const PixelBox seen = within(centre, size[0], size[1]);
  Raster out = resized(image, size[0], size[1], augmentation.interpolation, seen);
  if (seen == centre) return out;
  return cropped(out, {.top = centre.top - seen.top,
                       .left = centre.left - seen.left,
                       .height = height,
                       .width = width});
}

PixelBox random_box(std::int64_t height, std::int64_t width, const Augmentation& augmentation,
                    std::span<const std::uint32_t, kBoxWords> words) {
  const auto [narrowest, widest] = augmentation.crop_ratio;
  const double area = static_cast<double>(height * width);
  for (std::size_t i = 0; i < kBoxWords; i += 4) {
    const double part =
        area * uniform(words[i], augmentation.crop_scale[0], augmentation.crop_scale[1]);
    const double ratio = std::exp(uniform(words[i + 1], std::log(narrowest), std::log(widest)));
    const PixelBox box{.height = rounded(std::sqrt(part / ratio)),
                       .width = rounded(std::sqrt(part * ratio))};
    if (box.height < 1 || box.width < 1 || box.height > height || box.width > width) continue;
    return {.top = below(words[i + 2], height - box.height + 1),
            .left = below(words[i + 3], width - box.width + 1),
            .height = box.height,
            .width = box.width};
  }
  PixelBox box{.height = height, .width = width};
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  if (ratio < narrowest)
    box.height = std::max<std::int64_t>(rounded(static_cast<double>(width) / narrowest), 1);
  else if (ratio > widest)
    box.width = std::max<std::int64_t>(rounded(static_cast<double>(height) * widest), 1);
  box.top = (height - box.height) / 2;
  box.left = (width - box.width) / 2;
  return box;
}

Raster augmented(const Raster& image, std::int64_t height, std::int64_t width,
                 const Augmentation& augmentation, std::int64_t index, const DrawKey& key) {
  if (!key.epoch) return fitted(image, height, width, augmentation);
  const RngKey rng{.seed = key.seed,
                   .stream = rng_stream("augmented images", static_cast<std::uint64_t>(index)),
                   .step = static_cast<std::uint64_t>(*key.epoch)};
  std::array<std::uint32_t, kBox + kBoxWords> words;
  random_bits(rng, 0, words);
  Raster out;
  if (augmentation.random_resized_crop) {
    const PixelBox box = random_box(image.height, image.width, augmentation,
                                    std::span(words).subspan<kBox, kBoxWords>());
    out = resized(cropped(image, box), height, width, augmentation.interpolation,
                  {.height = height, .width = width});
  } else {
    out = fitted(image, height, width, augmentation);
  }
  if (augmentation.shift > 0) {
    const std::int64_t places = 2 * augmentation.shift + 1;
    out = cropped(out, {.top = augmentation.shift - below(words[kDown], places),
                        .left = augmentation.shift - below(words[kRight], places),
                        .height = height,
                        .width = width});
  }
  if (uniform(words[kFlip], 0, 1) < augmentation.horizontal_flip)
    out = turned_upright(std::move(out), kMirrored);
  return out;
}

}  // namespace lockstep
