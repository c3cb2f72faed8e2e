// Labelled images as samples: made to fit, changed at random in training, and scaled.
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

/// Pixels become (byte / 255 - mean) / stddev. Either both empty (just scaling to [0, 1]), or one
/// value each for all channels, or one per channel.
struct PixelScaling {
  std::vector<double> mean = {};
  std::vector<double> stddev = {};
};

/// What becomes of an image that cannot be read.
enum class OnBadSample : std::uint8_t {
  kError,
  kSkip,  ///< the next one that can takes its place
};

struct ImageOptions {
  Shape shape;  ///< [channels, height, width] of every sample
  Augmentation augmentation = {};
  PixelScaling scaling = {};
  std::int64_t classes = 0;     ///< labels are below it
  SoftLabels soft_labels = {};  ///< of what is trained on
  OnBadSample on_bad_sample = OnBadSample::kError;
};

/// Sample i is {"image": f32 [C,H,W], "label": i32 []}, and what soft labels have.
class ImageDataset final : public Dataset {
 public:
  /// Of images trained on that cannot be read one after another; then it is an error after all.
  static constexpr std::int64_t kMostBad = 16;

  /// Error kUsage if the scaling does not fit the channels or divides by zero; kData if a label is
  /// not below `classes`, or there are no images.
  ImageDataset(std::shared_ptr<const ImageSource> images, ImageOptions options);

  std::int64_t size() const override { return images_->size(); }
  std::vector<FieldSpec> fields() const override;
  /// As in an evaluation.
  Sample get(std::int64_t index) const override { return draw(index, {}); }
  /// Where it is skipped, the place of image i is taken by the first that can be read of those that
  /// follow it in the source, drawn as sample i; in an evaluation, where what is told of does not
  /// count, by a blank one.
  Sample draw(std::int64_t index, const DrawKey& key) const override;
  void mix(std::span<Sample> samples, std::span<const std::int64_t> indices,
           const DrawKey& key) const override {
    lockstep::mix(samples, indices, options_.soft_labels, key);
  }
  /// Of what the source has; what becomes of it is the run's business.
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
  std::vector<std::array<float, 256>> scaled_;  ///< per channel: the value of every byte
};

}  // namespace lockstep
