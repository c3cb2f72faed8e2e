#include "data/images/image_tensors.h"

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

ImageTensors::ImageTensors(const Shape& shape, const Augmentation& augmentation,
                           const PixelScaling& scaling)
    : shape_(shape), augmentation_(augmentation) {
  check_scaling(scaling.mean, "mean", shape[0]);
  check_scaling(scaling.stddev, "standard deviation", shape[0]);
  for (const double stddev : scaling.stddev) {
    LS_USER_CHECK(stddev > 0, "a standard deviation must be positive, not {}", stddev);
  }
  scaled_ = scaled_bytes(scaling, shape[0]);
}

HostTensor ImageTensors::of(Raster stored, std::int64_t index, const DrawKey& key) const {
  return scaled(augmented(with_channels(std::move(stored), shape_[0]), shape_[1], shape_[2],
                          augmentation_, index, key));
}

HostTensor ImageTensors::scaled(const Raster& image) const {
  HostTensor tensor(DType::kF32, shape_);
  const auto out = tensor.as<float>();
  const std::size_t channels = scaled_.size();
  const std::size_t plane = out.size() / channels;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < plane; ++i)
      out[c * plane + i] = scaled_[c][image.pixels[i * channels + c]];
  return tensor;
}

HostTensor ImageTensors::blank() const {
  Raster black{.height = shape_[1], .width = shape_[2], .channels = shape_[0]};
  black.pixels.resize(static_cast<std::size_t>(shape_.elements()));
  return scaled(black);
}

}  // namespace lockstep
