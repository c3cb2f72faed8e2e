#include "trainer/models/vision.h"

#include "core/base/error.h"

namespace lockstep {

Mlp::Mlp(const ModelConfig& config, Precision precision)
    : Model(precision), input_size_(config.input_size) {
  std::vector<std::int64_t> sizes{config.input_size};
  sizes.insert(sizes.end(), config.hidden_sizes.begin(), config.hidden_sizes.end());
  sizes.push_back(config.n_classes);
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
    layers_.emplace_back(parameters_, fmt::format("layers.{}", i), sizes[i], sizes[i + 1],
                         Linear::Options{});
}

ModelOutput Mlp::forward(const TensorMap& batch, const Forward&) {
  const Tensor& image = batch.at("image");
  const std::int64_t pixels = image.shape().elements() / std::max<std::int64_t>(image.size(0), 1);
  LS_USER_CHECK(pixels == input_size_, "images of {} elements do not fit model.input_size {}",
                pixels, input_size_);
  Tensor x = convert(reshape(image, Shape{image.shape().dim(0), pixels}), compute_dtype());
  for (std::size_t i = 0; i < layers_.size(); ++i)
    x = i + 1 < layers_.size() ? relu(layers_[i](x)) : layers_[i](x);
  return classification_output(x, batch.at("label"), batch, image.size(0));
}

Lenet::Lenet(const ModelConfig& config, Precision precision)
    : Model(precision),
      conv1_(parameters_, "conv1", 1, 6, 5, {.padding = {2, 2, 2, 2}}),
      conv2_(parameters_, "conv2", 6, 16, 5, {}),
      fc1_(parameters_, "fc1", 400, 120, {}),
      fc2_(parameters_, "fc2", 120, 84, {}),
      fc3_(parameters_, "fc3", 84, config.n_classes, {}) {}

ModelOutput Lenet::forward(const TensorMap& batch, const Forward&) {
  const Tensor& image = batch.at("image");
  const std::int64_t size = image.size(0);
  LS_USER_CHECK((image.shape() == Shape{size, 1, 28, 28}), "lenet takes images [B,1,28,28], not {}",
                image.shape().to_string());
  Tensor x = convert(image, compute_dtype());
  x = max_pool(relu(conv1_(x)), {});  // [B,6,14,14]
  x = max_pool(relu(conv2_(x)), {});  // [B,16,5,5]
  x = reshape(x, Shape{size, 400});
  x = relu(fc2_(relu(fc1_(x))));
  return classification_output(fc3_(x), batch.at("label"), batch, size);
}

}  // namespace lockstep
