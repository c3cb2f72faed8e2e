#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

#include "core/ir/image_layout.h"
#include "tests/core/kernels/kernel_case.h"

namespace lockstep::cpu_test {
namespace {

struct Convolution {
  Attrs::Ints x, w;
  Attrs::Ints stride{1, 1}, padding{0, 0, 0, 0}, dilation{1, 1};
  std::int64_t groups = 1;
};

/// The convolution and both of its gradients agree with the reference, which images that are
/// channels last or not agree with by its own tests. `result`: nothing is the operands' dtype.
void expect_convolution(const Convolution& c, bool channels_last, DType dtype, double relative,
                        std::optional<DType> result = {}) {
  Attrs attrs{{Attr::kStride, c.stride},
              {Attr::kPadding, c.padding},
              {Attr::kDilation, c.dilation},
              {Attr::kGroups, {c.groups}}};
  if (channels_last) attrs.set_int(Attr::kChannelsLast, 1);
  if (result) attrs.set_dtype(*result);
  const Shape image = stored_shape(attrs, Shape(c.x));
  const auto x = random_tensor(dtype, image, 1);
  const auto w = random_tensor(dtype, Shape(c.w), 2);
  const Case forward = make_case(Op::kConvolution, {x, w}, attrs);
  expect_correct(forward, relative, 1e-4);
  const auto dy = random_tensor(dtype, forward.node.type.shape, 3);
  Attrs of_x = attrs;
  of_x.set(Attr::kShape, image.sizes());
  expect_correct(make_case(Op::kConvolutionGradInput, {dy, w}, of_x), relative, 1e-4);
  Attrs of_w = attrs;
  of_w.set(Attr::kShape, c.w);
  expect_correct(make_case(Op::kConvolutionGradWeight, {x, dy}, of_w), relative, 2e-3);
}

void expect_convolution(const Convolution& c, DType dtype = DType::kF32, double relative = 1e-4) {
  for (const bool channels_last : {false, true})
    expect_convolution(c, channels_last, dtype, relative);
}

TEST(CpuConvolution, LeNetLayersMatch) {
  expect_convolution({.x = {8, 1, 28, 28}, .w = {6, 1, 5, 5}, .padding = {2, 2, 2, 2}});
  expect_convolution({.x = {8, 6, 14, 14}, .w = {16, 6, 5, 5}});
  expect_convolution({.x = {3, 16, 9, 9}, .w = {32, 16, 3, 3}, .padding = {1, 1, 1, 1}});
}

TEST(CpuConvolution, StrideDilationGroupsAndUnevenPaddingMatch) {
  expect_convolution({.x = {2, 4, 11, 13}, .w = {6, 4, 3, 2}, .stride = {2, 3}});
  expect_convolution({.x = {2, 4, 11, 13}, .w = {6, 4, 3, 2}, .dilation = {2, 3}});
  expect_convolution(
      {.x = {2, 4, 11, 13}, .w = {6, 2, 3, 2}, .padding = {1, 0, 0, 2}, .groups = 2});
  expect_convolution(
      {.x = {2, 8, 10, 10}, .w = {8, 1, 3, 3}, .padding = {1, 1, 1, 1}, .groups = 8});
  expect_convolution({.x = {1, 3, 12, 7}, .w = {5, 3, 1, 1}, .stride = {2, 2}});
}

TEST(CpuConvolution, ReducedDtypesAndEmptySizesHaveAKernel) {
  expect_convolution({.x = {2, 3, 8, 8}, .w = {4, 3, 3, 3}}, DType::kBF16, 0x1p-7);
  expect_convolution({.x = {2, 3, 6, 6}, .w = {4, 3, 3, 3}}, DType::kF64, 1e-12);
  expect_convolution({.x = {0, 3, 6, 6}, .w = {4, 3, 3, 3}});
  expect_convolution({.x = {1, 1, 1, 1}, .w = {1, 1, 1, 1}});
}

TEST(CpuConvolution, OperandsOf16BitsGiveUnroundedResults) {
  const Convolution c{.x = {2, 32, 9, 9}, .w = {80, 32, 3, 3}, .padding = {1, 1, 1, 1}};
  for (const bool channels_last : {false, true})
    for (const DType dtype : {DType::kBF16, DType::kF16})
      expect_convolution(c, channels_last, dtype, 1e-4, DType::kF32);
}

TEST(CpuConvolution, LargeLayersAreTheSameOnTwoThreads) {
  expect_convolution({.x = {17, 32, 12, 12}, .w = {40, 32, 3, 3}, .padding = {1, 1, 1, 1}});
  // Of the weight gradient's channels there are two parts, the second shorter.
  expect_convolution({.x = {5, 32, 12, 12}, .w = {80, 32, 3, 3}, .padding = {1, 1, 1, 1}},
                     DType::kBF16, 0x1p-7);
}

RC_GTEST_PROP(CpuConvolution, AnyGeometryMatches, ()) {
  const auto pick = [](std::int64_t low, std::int64_t high) {
    return *rc::gen::inRange<std::int64_t>(low, high + 1);
  };
  const std::int64_t groups = pick(1, 3);
  // oneDNN has other code for channels that fill vectors and tiles.
  const auto pick_channels = [&] { return *rc::gen::element<std::int64_t>(1, 3, 4, 16, 33, 48); };
  const std::int64_t channels = pick_channels();
  Convolution c{.x = {pick(1, 3), channels * groups, pick(1, 12), pick(1, 12)},
                .w = {groups * pick_channels(), channels, pick(1, 4), pick(1, 4)},
                .stride = {pick(1, 3), pick(1, 3)},
                .padding = {pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)},
                .dilation = {pick(1, 2), pick(1, 2)},
                .groups = groups};
  RC_PRE(c.x[2] + c.padding[0] + c.padding[1] > c.dilation[0] * (c.w[2] - 1));
  RC_PRE(c.x[3] + c.padding[2] + c.padding[3] > c.dilation[1] * (c.w[3] - 1));
  expect_convolution(c);
  // Unrounded, so that what a product adds in another order is not hidden by a rounding.
  for (const bool channels_last : {false, true})
    expect_convolution(c, channels_last, DType::kBF16, 1e-4, DType::kF32);
}

}  // namespace
}  // namespace lockstep::cpu_test
