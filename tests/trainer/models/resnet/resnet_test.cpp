// ResNet's names are those of torchvision's state dicts (models/resnet.py), and so are its sizes.
#include "trainer/models/resnet/resnet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

Tensor zeros(TraceContext& context, const Shape& shape) {
  return context.filled(0, {DType::kF32, shape});
}

std::vector<std::string> names_of(const Module& model) {
  std::vector<std::string> out;
  for (const Parameter& p : model.parameters().all())
    out.push_back(p.name + " " + p.shape.to_string());
  return out;
}

const Parameter& parameter(const Module& model, const std::string& name) {
  for (const Parameter& p : model.parameters().all())
    if (p.name == name) return p;
  throw std::out_of_range(name);
}

TEST(ResNet, HasTheParametersOfTorchvisionsBasicBlocks) {
  const ResNet model({.depths = {1, 1}, .width = 4, .n_classes = 7});
  EXPECT_THAT(
      names_of(model),
      ElementsAre(
          "conv1.weight [4,3,7,7]", "bn1.weight [4]", "bn1.bias [4]",
          "layer1.0.conv1.weight [4,4,3,3]", "layer1.0.bn1.weight [4]", "layer1.0.bn1.bias [4]",
          "layer1.0.conv2.weight [4,4,3,3]", "layer1.0.bn2.weight [4]", "layer1.0.bn2.bias [4]",
          "layer2.0.conv1.weight [8,4,3,3]", "layer2.0.bn1.weight [8]", "layer2.0.bn1.bias [8]",
          "layer2.0.conv2.weight [8,8,3,3]", "layer2.0.bn2.weight [8]", "layer2.0.bn2.bias [8]",
          "layer2.0.downsample.0.weight [8,4,1,1]", "layer2.0.downsample.1.weight [8]",
          "layer2.0.downsample.1.bias [8]", "fc.weight [7,8]", "fc.bias [7]"));
}

TEST(ResNet, HasTheParametersOfTorchvisionsBottlenecks) {
  const ResNet model({.depths = {2},
                      .layer_type = ResNetBlock::kBottleneck,
                      .stem = ResNetStem::kCifar,
                      .width = 4,
                      .num_channels = 1,
                      .n_classes = 7});
  EXPECT_THAT(
      names_of(model),
      ElementsAre(
          "conv1.weight [4,1,3,3]", "bn1.weight [4]", "bn1.bias [4]",
          "layer1.0.conv1.weight [4,4,1,1]", "layer1.0.bn1.weight [4]", "layer1.0.bn1.bias [4]",
          "layer1.0.conv2.weight [4,4,3,3]", "layer1.0.bn2.weight [4]", "layer1.0.bn2.bias [4]",
          "layer1.0.conv3.weight [16,4,1,1]", "layer1.0.bn3.weight [16]", "layer1.0.bn3.bias [16]",
          "layer1.0.downsample.0.weight [16,4,1,1]", "layer1.0.downsample.1.weight [16]",
          "layer1.0.downsample.1.bias [16]", "layer1.1.conv1.weight [4,16,1,1]",
          "layer1.1.bn1.weight [4]", "layer1.1.bn1.bias [4]", "layer1.1.conv2.weight [4,4,3,3]",
          "layer1.1.bn2.weight [4]", "layer1.1.bn2.bias [4]", "layer1.1.conv3.weight [16,4,1,1]",
          "layer1.1.bn3.weight [16]", "layer1.1.bn3.bias [16]", "fc.weight [7,16]", "fc.bias [7]"));
}

/// The sizes that torchvision's documentation lists, and, for CIFAR, 0.27 million of He et al.,
/// table 6: 16 x 27 + 12 x 9 x 16^2 ..., of which shortcuts have none.
TEST(ResNet, HasAsManyParametersAsTheOriginals) {
  const std::map<std::string, std::int64_t> expected = {{"ResNet-18", 11'689'512},
                                                        {"ResNet-34", 21'797'672},
                                                        {"ResNet-50", 25'557'032},
                                                        {"ResNet-101", 44'549'160},
                                                        {"ResNet-20", 269'722}};
  int found = 0;
  for (const auto& [text, size] : ResNetConfig::sizes()) {
    const std::string name = text.substr(text.find("ResNet-"));
    EXPECT_EQ(ResNet(size).parameters().elements(), expected.at(name.substr(0, name.find(' '))))
        << text;
    ++found;
  }
  EXPECT_EQ(found, expected.size());
}

TEST(ResNet, BeginsAsTorchvisionDoes) {
  const ResNet plain({.depths = {1}, .width = 4});
  const Initializer drawn = parameter(plain, "conv1.weight").initializer;
  EXPECT_EQ(drawn.kind, Initializer::Kind::kNormal);
  EXPECT_NEAR(drawn.a, std::sqrt(2.0 / (4 * 7 * 7)), 1e-12) << "fan out: not 3 * 7 * 7";
  EXPECT_EQ(parameter(plain, "layer1.0.bn2.weight").initializer.a, 1.0);

  const ResNet as_shortcuts({.depths = {1}, .width = 4, .zero_init_last_norm = true});
  EXPECT_EQ(parameter(as_shortcuts, "layer1.0.bn1.weight").initializer.a, 1.0);
  EXPECT_EQ(parameter(as_shortcuts, "layer1.0.bn2.weight").initializer.a, 0.0);
}

TEST(ResNet, TakesImagesOfItsChannelsOnly) {
  TraceContext context;
  const ResNet model({.depths = {1}, .width = 4});
  const Tensor image = zeros(context, Shape{2, 1, 8, 8});
  EXPECT_EQ(usage_error([&] {
              model(Batch({{"image", image}}));
            }),
            "resnet takes images [B,3,H,W] by model.num_channels, not [2,1,8,8]");
}

}  // namespace
}  // namespace lockstep
