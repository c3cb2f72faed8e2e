// Classifiers of small images: a multilayer perceptron, and LeNet-5 (LeCun et al., "Gradient-based
// learning applied to document recognition", 1998) with ReLU and max pooling.
#pragma once

#include <vector>

#include "trainer/models/model.h"

namespace lockstep {

/// input_size -> hidden_sizes... -> n_classes with ReLU between. Images are flattened.
class Mlp final : public Model {
 public:
  Mlp(const ModelConfig& config, Precision precision);
  ModelOutput forward(const TensorMap& batch, const Forward& mode) override;

 private:
  std::int64_t input_size_;
  std::vector<Linear> layers_;
};

/// For images [B,1,28,28].
class Lenet final : public Model {
 public:
  Lenet(const ModelConfig& config, Precision precision);
  ModelOutput forward(const TensorMap& batch, const Forward& mode) override;

 private:
  Conv2d conv1_;
  Conv2d conv2_;
  Linear fc1_;
  Linear fc2_;
  Linear fc3_;
};

}  // namespace lockstep
