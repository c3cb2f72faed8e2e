// Resampling. The definition is Pillow's (Image.resize with a box, src/libImaging/Resample.c), so
// that a model sees what it saw elsewhere: the filter is stretched by the factor by which the image
// shrinks, its weights are rounded to 22 bits, columns are resampled before rows, and what lies
// between is rounded to bytes.
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

/// The part of the image as height x width pixels. Sizes are positive and the box lies within.
Raster resize(const Raster& image, const ImageBox& box, std::int64_t height, std::int64_t width,
              Interpolation interpolation);

}  // namespace lockstep
