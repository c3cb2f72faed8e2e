#include "data/images/image_dataset.h"

#include <utility>

#include "core/base/error.h"
#include "data/digest.h"

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

}  // namespace

ImageDataset::ImageDataset(LabelledImages images, const PixelScaling& scaling, std::int64_t classes)
    : images_(std::move(images)) {
  const std::int64_t channels = images_.shape[0];
  LS_CHECK(images_.pixels.size() ==
               images_.labels.size() * static_cast<std::size_t>(images_.shape.elements()),
           "{} bytes for {} images of {}", images_.pixels.size(), images_.labels.size(),
           images_.shape.to_string());
  check_scaling(scaling.mean, "mean", channels);
  check_scaling(scaling.stddev, "standard deviation", channels);
  for (const double stddev : scaling.stddev) {
    LS_USER_CHECK(stddev > 0, "a standard deviation must be positive, not {}", stddev);
  }
  if (images_.labels.empty()) raise(ErrorKind::kData, "{}: no images in it", images_.source);
  for (std::size_t i = 0; i < images_.labels.size(); ++i) {
    if (images_.labels[i] >= classes) {
      raise(ErrorKind::kData, "{}: label {} of image {} is not below {}, the number of classes",
            images_.source, images_.labels[i], i, classes);
    }
  }
  scaled_.resize(static_cast<std::size_t>(channels));
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const double scaled = (byte / 255.0 - value_for(scaling.mean, channel, 0)) /
                            value_for(scaling.stddev, channel, 1);
      scaled_[static_cast<std::size_t>(channel)][byte] = static_cast<float>(scaled);
    }
  }
}

std::vector<FieldSpec> ImageDataset::fields() const {
  return {{"image", DType::kF32, images_.shape}, {"label", DType::kI32, Shape{}}};
}

Sample ImageDataset::get(std::int64_t index) const {
  check_index(*this, index);
  const auto at = static_cast<std::size_t>(index);
  HostTensor image(DType::kF32, images_.shape);
  const auto out = image.as<float>();
  const std::uint8_t* pixels = images_.pixels.data() + at * out.size();
  const std::size_t per_channel = out.size() / scaled_.size();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = scaled_[i / per_channel][pixels[i]];
  return {{"image", image}, {"label", HostTensor::scalar<std::int32_t>(images_.labels[at])}};
}

std::string ImageDataset::digest() const {
  Sha256 hash;
  for (const std::int64_t size : images_.shape.sizes()) hash.update(&size, sizeof size);
  hash.update(images_.labels.data(), images_.labels.size());
  hash.update(images_.pixels.data(), images_.pixels.size());
  return finish_hex(hash);
}

std::string ImageDataset::describe() const {
  return fmt::format("{}: {} images {}", images_.source, size(), images_.shape.to_string());
}

}  // namespace lockstep
