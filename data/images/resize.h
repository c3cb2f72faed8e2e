// Resampling, defined as in Pillow (Image.resize with a box, src/libImaging/Resample.c), so that a
// model sees the same pixels as elsewhere. The filter is stretched by the factor by which the image
// shrinks, its weights are rounded to 22 bits, columns are resampled before rows, and the
// intermediate image is rounded to bytes.
#pragma once

#include <cstdint>

#include "data/images/raster.h"

namespace lockstep {

enum class Interpolation : std::uint8_t { kBilinear, kBicubic };

/// A part of an image, in pixels; sides need not be whole.
struct ImageBox {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

/// A part of an image in whole pixels.
struct PixelBox {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  friend bool operator==(const PixelBox&, const PixelBox&) = default;
};

/// Resamples the box to height x width pixels. Sizes are positive; the box lies within the image.
Raster resize(const Raster& image, const ImageBox& box, std::int64_t height, std::int64_t width,
              Interpolation interpolation);

/// Only `part` of that result, which lies within it. The rest, which may be larger than memory, is
/// not computed.
Raster resize(const Raster& image, const ImageBox& box, std::int64_t height, std::int64_t width,
              Interpolation interpolation, const PixelBox& part);

}  // namespace lockstep
