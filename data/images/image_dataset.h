// Labelled images as samples: fitted, changed at random in training, and scaled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/images/bad_images.h"
#include "data/images/image_source.h"
#include "data/images/image_tensors.h"
#include "data/images/soft_labels.h"
#include "data/samples/dataset.h"

namespace lockstep {

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
  std::shared_ptr<const ImageSource> images_;
  ImageOptions options_;
  ImageTensors tensors_;
};

}  // namespace lockstep
