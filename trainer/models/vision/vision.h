// Classifiers of small images: a multilayer perceptron, and LeNet-5 (LeCun et al., "Gradient-based
// learning applied to document recognition", 1998) with ReLU and max pooling.
#pragma once

#include "core/nn/layers.h"
#include "trainer/models/vision/vision_config.h"
#include "trainer/task/model.h"

namespace lockstep {

/// input_size -> hidden_sizes... -> n_classes with ReLU between. Images are flattened.
class Mlp final : public Model {
 public:
  static constexpr std::string_view kName = "mlp";
  static constexpr std::string_view kDoc = "a multilayer perceptron that classifies images";
  using Config = MlpConfig;

  explicit Mlp(const Config& config);
  Loss operator()(const Batch& batch) const override;

 private:
  std::int64_t input_size_;
  ModuleList<Linear> layers_{*this, "layers"};
};

/// For images [B,1,28,28].
class Lenet final : public Model {
 public:
  static constexpr std::string_view kName = "lenet";
  static constexpr std::string_view kDoc = "LeNet-5, which classifies images of 28 x 28";
  using Config = LenetConfig;

  explicit Lenet(const Config& config);
  Loss operator()(const Batch& batch) const override;

 private:
  Conv2d conv1_{*this, "conv1", 1, 6, 5, {.padding = {2, 2, 2, 2}}};
  Conv2d conv2_{*this, "conv2", 6, 16, 5};
  Linear fc1_{*this, "fc1", 400, 120};
  Linear fc2_{*this, "fc2", 120, 84};
  Linear fc3_;
};

}  // namespace lockstep
