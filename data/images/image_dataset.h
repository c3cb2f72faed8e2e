// Labelled images as samples: fitted, changed at random in training, and scaled.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "data/images/augmentation.h"
#include "data/images/image_source.h"
#include "data/images/soft_labels.h"
#include "data/samples/dataset.h"

namespace lockstep {

/// Pixels become (byte / 255 - mean) / stddev. Either both are empty (pixels are scaled to [0, 1]),
/// or each has one value for all channels, or one per channel.
struct PixelScaling {
  std::vector<double> mean = {};
  std::vector<double> stddev = {};
};

/// How an image that cannot be read is handled.
enum class OnBadSample : std::uint8_t {
  kError,
  kSkip,  ///< the next readable image replaces it
};

struct ImageOptions {
  Shape shape;  ///< [channels, height, width] of every sample
  Augmentation augmentation = {};
  PixelScaling scaling = {};
  std::int64_t classes = 0;     ///< labels are below it
  SoftLabels soft_labels = {};  ///< for training samples
  OnBadSample on_bad_sample = OnBadSample::kError;
};

/// Sample i is {"image": f32 [C,H,W], "label": i32 []}, and the fields of soft labels.
class ImageDataset final : public Dataset {
 public:
  /// Maximum number of unreadable training images in a row; more are an error.
  static constexpr std::int64_t kMaxBad = 16;

  /// Error kUsage if the scaling does not fit the channels or divides by zero; kData if a label is
  /// not below `classes`, or there are no images.
  ImageDataset(std::shared_ptr<const ImageSource> images, ImageOptions options);

  std::int64_t size() const override { return images_->size(); }
  std::vector<FieldSpec> fields() const override;
  /// As in an evaluation.
  Sample get(std::int64_t index) const override { return draw(index, {}); }
  /// With kSkip, an unreadable image i is replaced by the first readable image that follows it in
  /// the source, drawn as sample i. In an evaluation, where a skipped sample does not count, it is
  /// replaced by a blank one.
  Sample draw(std::int64_t index, const DrawKey& key) const override;
  void mix(std::span<Sample> samples, std::span<const std::int64_t> indices,
           const DrawKey& key) const override {
    lockstep::mix(samples, indices, options_.soft_labels, key);
  }
  /// Of the source's images, independent of how the run changes them.
  std::string digest() const override { return images_->digest(); }
  std::string describe() const override { return images_->describe(); }
  std::string source(std::int64_t index) const override { return images_->source(index); }

 private:
  struct Found {
    Raster image;
    std::int64_t label;
  };
  Found find(std::int64_t index, const DrawKey& key) const;
  Found blank(std::int64_t index) const;

  std::shared_ptr<const ImageSource> images_;
  ImageOptions options_;
  std::vector<std::array<float, 256>> scaled_;  ///< per channel: the scaled value of every byte
};

}  // namespace lockstep
