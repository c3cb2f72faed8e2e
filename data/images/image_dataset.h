// Labelled images, held in memory as bytes and scaled when they are fetched.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace lockstep {

/// Pixels become (byte / 255 - mean) / stddev. Either both empty (just scaling to [0, 1]), or one
/// value each for all channels, or one per channel.
struct PixelScaling {
  std::vector<double> mean = {};
  std::vector<double> stddev = {};
};

/// What a reader of an image format delivers.
struct LabelledImages {
  std::string source;                ///< files, for messages
  Shape shape;                       ///< [channels, height, width] of one image
  std::vector<std::uint8_t> pixels;  ///< images one after another, each in the order of `shape`
  std::vector<std::uint8_t> labels;  ///< one per image
};

/// Sample i is {"image": f32 [C,H,W], "label": i32 []}.
class ImageDataset final : public Dataset {
 public:
  /// Error kUsage if the scaling does not fit the channels or divides by zero; kData if a label is
  /// not below `classes`, or there are no images.
  ImageDataset(LabelledImages images, const PixelScaling& scaling, std::int64_t classes);

  std::int64_t size() const override { return static_cast<std::int64_t>(images_.labels.size()); }
  std::vector<FieldSpec> fields() const override;
  Sample get(std::int64_t index) const override;
  /// Of shape, labels and bytes; the scaling is the run's business.
  std::string digest() const override;
  std::string describe() const override;
  std::string source(std::int64_t) const override { return images_.source; }

 private:
  LabelledImages images_;
  std::vector<std::array<float, 256>> scaled_;  ///< per channel: the value of every byte
};

}  // namespace lockstep
