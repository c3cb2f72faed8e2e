#include "trainer/models/resnet/resnet.h"

#include <cmath>

#include "core/base/error.h"
#include "core/nn/layers.h"
#include "core/trace/functions.h"
#include "core/trace/mode.h"

namespace lockstep {
namespace {

constexpr std::int64_t kBottleneckExpansion = 4;

std::int64_t expansion(const ResNetConfig& config) {
  return config.layer_type == ResNetBlock::kBottleneck ? kBottleneckExpansion : 1;
}

/// He et al., arXiv:1502.01852, for the backward pass: torchvision's kaiming_normal_ of fan_out.
Initializer fan_out_normal(std::int64_t out, std::int64_t kernel) {
  return Initializer::normal(std::sqrt(2.0 / static_cast<double>(out * kernel * kernel)));
}

/// A window around every pixel, of an odd size.
ConvSpec centered(std::int64_t kernel, std::int64_t stride) {
  const std::int64_t edge = kernel / 2;
  return {.stride = {stride, stride}, .padding = {edge, edge, edge, edge}};
}

}  // namespace

ResNet::NormedConv::NormedConv(Module& parent, std::string_view conv_name,
                               std::string_view norm_name, const Sizes& sizes)
    : conv(parent, conv_name, sizes.in, sizes.out, sizes.kernel,
           centered(sizes.kernel, sizes.stride),
           {.bias = false, .weight_init = fan_out_normal(sizes.out, sizes.kernel)}),
      norm(parent, norm_name, sizes.out, 1e-5, 0.1, sizes.initial_weight) {}

ResNet::Downsample::Downsample(Module& parent, std::int64_t in, std::int64_t out,
                               std::int64_t stride)
    : Module(parent, "downsample"),
      projection(*this, "0", "1", {.in = in, .out = out, .kernel = 1, .stride = stride}) {}

ResNet::Block::Block(Module& parent, std::string_view name, const Config& config, std::int64_t in,
                     std::int64_t width, std::int64_t stride)
    : Module(parent, name), out(width * expansion(config)), stride(stride) {
  const double last = config.zero_init_last_norm ? 0.0 : 1.0;
  const auto add = [&](const NormedConv::Sizes& sizes) {
    const std::string number = std::to_string(convs.size() + 1);
    convs.emplace_back(*this, "conv" + number, "bn" + number, sizes);
  };
  if (config.layer_type == ResNetBlock::kBasic) {
    add({.in = in, .out = width, .kernel = 3, .stride = stride});
    add({.in = width, .out = out, .kernel = 3, .initial_weight = last});
  } else {
    add({.in = in, .out = width, .kernel = 1});
    add({.in = width, .out = width, .kernel = 3, .stride = stride});
    add({.in = width, .out = out, .kernel = 1, .initial_weight = last});
  }
  if ((stride != 1 || in != out) && config.shortcut == ResNetShortcut::kProjection)
    downsample = std::make_unique<Downsample>(*this, in, out, stride);
}

Tensor ResNet::Block::shortcut(const Tensor& x) const {
  if (downsample != nullptr) return downsample->projection(x);
  if (stride == 1 && x.size(1) == out) return x;
  const Tensor taken =
      slice(x, {0, 0, 0, 0}, {x.size(0), x.size(1), x.size(2), x.size(3)}, {1, 1, stride, stride});
  return pad(taken, 0.0, {0, 0, 0, 0}, {0, out - x.size(1), 0, 0});
}

Tensor ResNet::Block::operator()(const Tensor& x) const {
  Tensor y = x;
  for (const NormedConv& conv : convs) {
    const Tensor normed = conv(y);
    const ModuleScope scope = enter(x);
    y = &conv == &convs.back() ? normed : relu(normed);
  }
  const Tensor past = shortcut(x);
  const ModuleScope scope = enter(x);
  return relu(y + past);
}

ResNet::ResNet(const Config& config)
    : num_channels_(config.num_channels),
      stem_kind_(config.stem),
      stem_(*this, "conv1", "bn1",
            {.in = config.num_channels,
             .out = config.width,
             .kernel = config.stem == ResNetStem::kImagenet ? 7 : 3,
             .stride = config.stem == ResNetStem::kImagenet ? 2 : 1}) {
  std::int64_t in = config.width, width = config.width;
  for (std::size_t i = 0; i < config.depths.size(); ++i) {
    const std::string name = "layer" + std::to_string(i + 1);
    ModuleList<Block>& stage =
        *stages_.emplace_back(std::make_unique<ModuleList<Block>>(*this, name));
    for (std::int64_t block = 0; block < config.depths[i]; ++block) {
      stage.add(config, in, width, block == 0 && i > 0 ? 2 : 1);
      in = width * expansion(config);
    }
    width *= 2;
  }
  fc_ = std::make_unique<Linear>(*this, "fc", in, config.n_classes);
}

Loss ResNet::operator()(const Batch& batch) const {
  const Tensor& image = batch["image"];
  LS_USER_CHECK(image.shape().rank() == 4 && image.size(1) == num_channels_,
                "resnet takes images [B,{},H,W] by model.num_channels, not {}", num_channels_,
                image.shape().to_string());
  Tensor x = relu(stem_(to_compute_dtype(image)));
  if (stem_kind_ == ResNetStem::kImagenet) x = MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}(x);
  for (const auto& stage : stages_)
    for (const Block& block : *stage) x = block(x);
  const Tensor pooled = mean(x, {2, 3});  // [B,C]
  return classification_loss((*fc_)(pooled), batch);
}

}  // namespace lockstep
