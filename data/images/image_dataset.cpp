#include "data/images/image_dataset.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// The value for `channel`, or `otherwise` if there are none.
double value_for(const std::vector<double>& values, std::int64_t channel, double otherwise) {
  if (values.empty()) return otherwise;
  return values.size() == 1 ? values.front() : values[static_cast<std::size_t>(channel)];
}

void check_scaling(const std::vector<double>& values, const char* what, std::int64_t channels) {
  LS_USER_CHECK(values.size() <= 1 || static_cast<std::int64_t>(values.size()) == channels,
                "{} values of {} for images of {} channels", values.size(), what, channels);
}

std::vector<std::array<float, 256>> scaled_bytes(const PixelScaling& scaling,
                                                 std::int64_t channels) {
  std::vector<std::array<float, 256>> out(static_cast<std::size_t>(channels));
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const double scaled = (byte / 255.0 - value_for(scaling.mean, channel, 0)) /
                            value_for(scaling.stddev, channel, 1);
      out[static_cast<std::size_t>(channel)][byte] = static_cast<float>(scaled);
    }
  }
  return out;
}

}  // namespace

ImageDataset::ImageDataset(std::shared_ptr<const ImageSource> images, ImageOptions options)
    : images_(std::move(images)), options_(std::move(options)) {
  const std::int64_t channels = options_.shape[0];
  const PixelScaling& scaling = options_.scaling;
  check_scaling(scaling.mean, "mean", channels);
  check_scaling(scaling.stddev, "standard deviation", channels);
  for (const double stddev : scaling.stddev) {
    LS_USER_CHECK(stddev > 0, "a standard deviation must be positive, not {}", stddev);
  }
  if (size() == 0) raise(ErrorKind::kData, "{}: no images in it", images_->describe());
  for (std::int64_t i = 0; i < size(); ++i) {
    const std::int64_t label = images_->label(i);
    if (label < 0 || label >= options_.classes)
      raise(ErrorKind::kData, "{}: label {} of image {} is not {} {}, the number of classes",
            images_->label_source(i), label, i, label < 0 ? "from 0 to below" : "below",
            options_.classes);
  }
  scaled_ = scaled_bytes(scaling, channels);
}

std::vector<FieldSpec> ImageDataset::fields() const {
  std::vector<FieldSpec> out = soft_label_fields(options_.soft_labels);
  out.push_back({"image", DType::kF32, options_.shape});
  out.push_back({"label", DType::kI32, Shape{}});
  return out;
}

ImageDataset::Found ImageDataset::blank(std::int64_t index) const {
  const Shape& shape = options_.shape;
  Raster out{.height = shape[1], .width = shape[2], .channels = shape[0]};
  out.pixels.resize(static_cast<std::size_t>(shape.elements()));
  return {std::move(out), images_->label(index)};
}

ImageDataset::Found ImageDataset::find(std::int64_t index, const DrawKey& key) const {
  const bool evaluates = key.skipped != nullptr && !key.epoch;
  std::string first;  // the error of image `index` itself
  for (std::int64_t bad = 0;; ++bad) {
    const std::int64_t at = (index + bad) % size();
    try {
      Found out{images_->image(at), images_->label(at)};
      if (key.skipped != nullptr && bad > 0) key.skipped->push_back(first);
      return out;
    } catch (const Error& error) {
      if (options_.on_bad_sample == OnBadSample::kError || error.kind() != ErrorKind::kData) throw;
      if (bad == 0) first = error.what();
      if (evaluates) {
        key.skipped->push_back(first);
        return blank(index);
      }
      if (bad + 1 == std::min(kMaxBad, size()))
        raise(ErrorKind::kData,
              "{}; the {} images after it cannot be read either: data.on_bad_sample=skip skips at "
              "most {} in a row; remove them",
              first, bad, kMaxBad - 1);
    }
  }
}

Sample ImageDataset::draw(std::int64_t index, const DrawKey& key) const {
  check_index(*this, index);
  auto [stored, label] = find(index, key);
  const Shape& shape = options_.shape;
  const Raster raster = augmented(with_channels(std::move(stored), shape[0]), shape[1], shape[2],
                                  options_.augmentation, index, key);
  HostTensor image(DType::kF32, shape);
  const auto out = image.as<float>();
  const std::size_t channels = scaled_.size();
  const std::size_t plane = out.size() / channels;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < plane; ++i)
      out[c * plane + i] = scaled_[c][raster.pixels[i * channels + c]];
  Sample sample = {{"image", image},
                   {"label", HostTensor::scalar<std::int32_t>(static_cast<std::int32_t>(label))}};
  add_soft_labels(sample, options_.soft_labels, key);
  return sample;
}

}  // namespace lockstep
