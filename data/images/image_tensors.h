// Stored images as tensors that models take: fitted, changed at random in training, and scaled.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/shape.h"
#include "data/images/augmentation.h"
#include "data/images/raster.h"

namespace lockstep {

/// Pixels become (byte / 255 - mean) / stddev. Either both are empty (pixels are scaled to [0, 1]),
/// or each has one value for all channels, or one per channel.
struct PixelScaling {
  std::vector<double> mean = {};
  std::vector<double> stddev = {};
};

class ImageTensors {
 public:
  /// Of `shape` [channels, height, width]. Error kUsage if the scaling does not fit the channels or
  /// divides by zero.
  ImageTensors(const Shape& shape, const Augmentation& augmentation, const PixelScaling& scaling);

  const Shape& shape() const { return shape_; }
  /// f32 [C,H,W]: the image with 1 or 3 channels as asked for, augmented() as sample `index`.
  HostTensor of(Raster stored, std::int64_t index, const DrawKey& key) const;
  /// The scaled pixels of an image of `shape`.
  HostTensor scaled(const Raster& image) const;
  /// The tensor of a black image.
  HostTensor blank() const;

 private:
  Shape shape_;
  Augmentation augmentation_;
  std::vector<std::array<float, 256>> scaled_;  ///< per channel: the scaled value of every byte
};

}  // namespace lockstep
