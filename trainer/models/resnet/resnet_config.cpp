#include "trainer/models/resnet/resnet_config.h"

#include <fmt/ranges.h>

namespace lockstep {

std::vector<Key> ResNetConfig::keys() {
  return {{.name = "depths",
           .member = bind<&ResNetConfig::depths>(),
           .range = {1, 4096},
           .doc = "Residual blocks of each stage; stages after the first halve height and width "
                  "and double the channels."},
          {.name = "layer_type",
           .member = bind<&ResNetConfig::layer_type>(),
           .doc = "Blocks of two 3 x 3 convolutions, or of 1 x 1, 3 x 3 and 1 x 1 to four times "
                  "the channels."},
          {.name = "stem",
           .member = bind<&ResNetConfig::stem>(),
           .doc = "Layers before the stages: imagenet divides height and width by four, cifar "
                  "keeps them."},
          {.name = "shortcut",
           .member = bind<&ResNetConfig::shortcut>(),
           .doc = "Shortcut of blocks that change the size: a 1 x 1 convolution, or every other "
                  "pixel and zeros for new channels."},
          {.name = "width",
           .member = bind<&ResNetConfig::width>(),
           .range = {1, 1 << 16},
           .doc = "Channels of the stem and the first stage."},
          {.name = "num_channels",
           .member = bind<&ResNetConfig::num_channels>(),
           .range = size_at_least(1),
           .doc = "Channels of an image."},
          {.name = "image_size",
           .member = bind<&ResNetConfig::image_size>(),
           .range = size_at_least(1),
           .unit = "pixels",
           .doc = "Height and width of images if the data does not define them."},
          {.name = "n_classes",
           .member = bind<&ResNetConfig::n_classes>(),
           .range = size_at_least(2),
           .doc = "Number of classes."},
          {.name = "zero_init_last_norm",
           .member = bind<&ResNetConfig::zero_init_last_norm>(),
           .doc = "Initialize the last norm of every block with 0, so that the block starts as its "
                  "shortcut."}};
}

DataNeeds ResNetConfig::needs() const {
  return {
      .inputs = "images", .n_classes = n_classes, .image = {num_channels, image_size, image_size}};
}

void ResNetConfig::check(const Config&, const ReportProblem& report) const {
  constexpr std::size_t kMaxStages = 8;
  if (depths.size() > kMaxStages)
    report({"model.depths", "model.name"},
           fmt::format("'model.depths' has {} stages, but at most {} are possible", depths.size(),
                       kMaxStages));
  if (shortcut == ResNetShortcut::kPadding && layer_type == ResNetBlock::kBottleneck)
    report({"model.shortcut", "model.layer_type", "model.name"},
           "'model.shortcut: padding' is for basic blocks: the first bottleneck has four times the "
           "channels of its input");
}

std::vector<std::pair<std::string, ResNetConfig>> ResNetConfig::sizes() {
  constexpr auto kBottleneck = ResNetBlock::kBottleneck;
  std::vector<std::pair<std::string, ResNetConfig>> out = {
      {"ResNet-18", {}},
      {"ResNet-34", {.depths = {3, 4, 6, 3}}},
      {"ResNet-50", {.depths = {3, 4, 6, 3}, .layer_type = kBottleneck}},
      {"ResNet-101", {.depths = {3, 4, 23, 3}, .layer_type = kBottleneck}},
      {"ResNet-20 of CIFAR (stem cifar, width 16, shortcut padding)",
       {.depths = {3, 3, 3},
        .stem = ResNetStem::kCifar,
        .shortcut = ResNetShortcut::kPadding,
        .width = 16,
        .image_size = 32,
        .n_classes = 10}}};
  for (auto& [text, size] : out)
    text = fmt::format("depths [{}] layer_type {}: {}", fmt::join(size.depths, ", "),
                       name_of(size.layer_type), text);
  return out;
}

}  // namespace lockstep
