// The settings of ResNet (trainer/models/resnet/resnet.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/hub/hub_format.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_needs.h"

namespace lockstep {

enum class ResNetBlock : std::uint8_t { kBasic, kBottleneck };
template <>
struct EnumNames<ResNetBlock> {
  static constexpr std::array<std::string_view, 2> kNames{"basic", "bottleneck"};
};

enum class ResNetStem : std::uint8_t {
  kImagenet,  ///< 7 x 7 of stride 2, then a max pooling of stride 2
  kCifar,     ///< 3 x 3 of stride 1
};
template <>
struct EnumNames<ResNetStem> {
  static constexpr std::array<std::string_view, 2> kNames{"imagenet", "cifar"};
};

enum class ResNetShortcut : std::uint8_t {
  kProjection,  ///< a 1 x 1 convolution and a norm where sizes differ: B of He et al., torchvision
  kPadding,     ///< every other row and column, and zeros for new channels: A, without parameters
};
template <>
struct EnumNames<ResNetShortcut> {
  static constexpr std::array<std::string_view, 2> kNames{"projection", "padding"};
};

/// The defaults are ResNet-18's.
struct ResNetConfig {
  std::vector<std::int64_t> depths = {2, 2, 2, 2};
  ResNetBlock layer_type = ResNetBlock::kBasic;
  ResNetStem stem = ResNetStem::kImagenet;
  ResNetShortcut shortcut = ResNetShortcut::kProjection;
  std::int64_t width = 64;
  std::int64_t num_channels = 3;
  std::int64_t image_size = 224;
  std::int64_t n_classes = 1000;
  bool zero_init_last_norm = false;

  static std::vector<Key> keys();
  DataNeeds needs() const;
  void check(const Config& run, const ReportProblem& report) const;
  static std::vector<std::pair<std::string, ResNetConfig>> sizes();
  static HubFormat hub();
};

}  // namespace lockstep
