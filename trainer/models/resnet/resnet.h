// ResNet (He et al., arXiv:1512.03385), which classifies images: convolutions, batch norms and ReLU
// with shortcuts. In a bottleneck the 3 x 3 convolution has the stride, as in torchvision.
// Parameter and buffer names, layouts and initialization are torchvision's, which timm's resnets
// share: conv1, bn1, layer1.0.conv1, layer2.0.downsample.0, fc.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/nn/layers.h"
#include "core/nn/norm.h"
#include "core/nn/pooling.h"
#include "trainer/models/resnet/resnet_config.h"
#include "trainer/task/model.h"

namespace lockstep {

class ResNet final : public Model {
 public:
  static constexpr std::string_view kName = "resnet";
  static constexpr std::string_view kDoc = "ResNet, convolutions around shortcuts";
  using Config = ResNetConfig;

  explicit ResNet(const Config& config);
  /// Images [B,num_channels,H,W] of any height and width.
  Loss operator()(const Batch& batch) const override;

 private:
  /// A convolution without bias and the norm after it.
  struct NormedConv {
    struct Sizes {
      std::int64_t in;
      std::int64_t out;
      std::int64_t kernel;
      std::int64_t stride = 1;
      double initial_weight = 1.0;  ///< of the norm
    };
    NormedConv(Module& parent, std::string_view conv_name, std::string_view norm_name,
               const Sizes& sizes);
    Tensor operator()(const Tensor& x) const { return norm(conv(x)); }

    Conv2d conv;
    BatchNorm2d norm;
  };
  /// The projection of a shortcut, for blocks that change the size of their input.
  struct Downsample : Module {
    Downsample(Module& parent, std::int64_t in, std::int64_t out, std::int64_t stride);

    NormedConv projection;
  };
  struct Block : Module {
    Block(Module& parent, std::string_view name, const Config& config, std::int64_t in,
          std::int64_t width, std::int64_t stride);
    Tensor operator()(const Tensor& x) const;
    Tensor shortcut(const Tensor& x) const;

    std::int64_t out;
    std::int64_t stride;
    std::deque<NormedConv> convs;            ///< two or three
    std::unique_ptr<Downsample> downsample;  ///< null: the shortcut is x, or x padded with zeros
  };

  std::int64_t num_channels_;
  ResNetStem stem_kind_;
  NormedConv stem_;
  std::vector<std::unique_ptr<ModuleList<Block>>> stages_;
  std::unique_ptr<Linear> fc_;
};

}  // namespace lockstep
