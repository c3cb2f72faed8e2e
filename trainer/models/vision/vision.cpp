#include "trainer/models/vision/vision.h"

#include "core/base/error.h"
#include "core/trace/functions.h"
#include "core/trace/mode.h"

namespace lockstep {

Mlp::Mlp(const MlpConfig& config) : input_size_(config.input_size) {
  std::int64_t width = config.input_size;
  for (const std::int64_t hidden : config.hidden_sizes) {
    layers_.add(width, hidden);
    width = hidden;
  }
  layers_.add(width, config.n_classes);
}

Loss Mlp::operator()(const Batch& batch) const {
  const Tensor& image = batch["image"];
  const std::int64_t pixels = image.shape().elements() / std::max<std::int64_t>(image.size(0), 1);
  LS_USER_CHECK(pixels == input_size_, "images of {} elements do not fit model.input_size {}",
                pixels, input_size_);
  Tensor x = to_compute_dtype(reshape(image, Shape{image.size(0), pixels}));
  for (std::size_t i = 0; i < layers_.size(); ++i)
    x = i + 1 < layers_.size() ? relu(layers_[i](x)) : layers_[i](x);
  return classification_loss(x, batch);
}

Lenet::Lenet(const LenetConfig& config) : fc3_(*this, "fc3", 84, config.n_classes) {}

Loss Lenet::operator()(const Batch& batch) const {
  const Tensor& image = batch["image"];
  const std::int64_t size = image.size(0);
  LS_USER_CHECK((image.shape() == Shape{size, 1, 28, 28}), "lenet takes images [B,1,28,28], not {}",
                image.shape().to_string());
  Tensor x = to_compute_dtype(image);
  x = max_pool(relu(conv1_(x)), {});  // [B,6,14,14]
  x = max_pool(relu(conv2_(x)), {});  // [B,16,5,5]
  x = reshape(x, Shape{size, 400});
  x = relu(fc2_(relu(fc1_(x))));
  return classification_loss(fc3_(x), batch);
}

}  // namespace lockstep
