#include "data/images/image_dataset.h"

#include <utility>

#include "core/base/error.h"

namespace lockstep {

ImageDataset::ImageDataset(std::shared_ptr<const ImageSource> images, ImageOptions options)
    : images_(std::move(images)),
      options_(std::move(options)),
      tensors_(options_.shape, options_.augmentation, options_.scaling) {
  if (size() == 0) raise(ErrorKind::kData, "{}: no images in it", images_->describe());
  for (std::int64_t i = 0; i < size(); ++i) {
    const std::int64_t label = images_->label(i);
    if (label < 0 || label >= options_.classes)
      raise(ErrorKind::kData, "{}: label {} of image {} is not {} {}, the number of classes",
            images_->label_source(i), label, i, label < 0 ? "from 0 to below" : "below",
            options_.classes);
  }
}

std::vector<FieldSpec> ImageDataset::fields() const {
  std::vector<FieldSpec> out = soft_label_fields(options_.soft_labels);
  out.push_back({"image", DType::kF32, options_.shape});
  out.push_back({"label", DType::kI32, Shape{}});
  return out;
}

Sample ImageDataset::draw(std::int64_t index, const DrawKey& key) const {
  check_index(*this, index);
  auto [at, stored] = find_image(
      index, options_.on_bad_sample, key, [&](std::int64_t i) { return images_->image(i); },
      [&](std::int64_t i) { return (i + 1) % size(); });
  const auto label = static_cast<std::int32_t>(images_->label(at));
  Sample sample = {
      {"image", stored ? tensors_.of(std::move(*stored), index, key) : tensors_.blank()},
      {"label", HostTensor::scalar(label)}};
  add_soft_labels(sample, options_.soft_labels, key);
  return sample;
}

}  // namespace lockstep
