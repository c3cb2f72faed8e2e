// The oracle's own proof of channels_last: transposing images around an op changes nothing.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "core/ir/image_layout.h"
#include "tests/core/kernels/reference/evaluate.h"

namespace lockstep {
namespace {

HostTensor numbers(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_int_distribution<int> draw(-8, 8);
  std::vector<double> out(static_cast<std::size_t>(shape.elements()));
  for (double& value : out) value = draw(engine);
  return f64(shape, out);
}

HostTensor to_channels_last(const HostTensor& image) {
  return evaluate(Op::kTranspose, {image}, {{Attr::kDims, kToChannelsLast}});
}

/// op(operands) against the same with its images stored the other way. `weight`: the operand that
/// is no image, -1 if there is none, or 2 for the result.
void expect_same(Op op, std::vector<HostTensor> operands, Attrs attrs, int weight = -1) {
  const HostTensor planar = evaluate(op, operands, attrs);
  for (int i = 0; i < static_cast<int>(operands.size()); ++i)
    if (i != weight)
      operands[static_cast<std::size_t>(i)] =
          to_channels_last(operands[static_cast<std::size_t>(i)]);
  attrs.set_int(Attr::kChannelsLast, 1);
  if (attrs.has(Attr::kShape) && weight != 2)
    attrs.set(Attr::kShape, to_channels_last(planar).shape().sizes());
  const HostTensor last = evaluate(op, operands, attrs);
  const HostTensor expected = weight == 2 ? planar : to_channels_last(planar);
  EXPECT_EQ(last.shape(), expected.shape());
  EXPECT_EQ(to_doubles(last), to_doubles(expected)) << name_of(op);
}

TEST(ReferenceChannelsLast, ConvolutionsOfTransposedImagesAreTransposed) {
  const Shape x{2, 4, 5, 7}, w{6, 2, 3, 2};
  const Attrs attrs{{Attr::kStride, {2, 1}},
                    {Attr::kPadding, {1, 0, 1, 2}},
                    {Attr::kDilation, {1, 2}},
                    {Attr::kGroups, {2}}};
  expect_same(Op::kConvolution, {numbers(x, 1), numbers(w, 2)}, attrs, 1);
  const Shape y = evaluate(Op::kConvolution, {numbers(x, 1), numbers(w, 2)}, attrs).shape();
  Attrs of_x = attrs;
  of_x.set(Attr::kShape, x.sizes());
  expect_same(Op::kConvolutionGradInput, {numbers(y, 3), numbers(w, 2)}, of_x, 1);
  Attrs of_w = attrs;
  of_w.set(Attr::kShape, w.sizes());
  expect_same(Op::kConvolutionGradWeight, {numbers(x, 1), numbers(y, 3)}, of_w, 2);
}

TEST(ReferenceChannelsLast, PoolsOfTransposedImagesAreTransposed) {
  const Shape x{2, 3, 5, 7};
  const Attrs attrs{
      {Attr::kWindow, {3, 2}}, {Attr::kStride, {2, 1}}, {Attr::kPadding, {1, 2, 0, 1}}};
  expect_same(Op::kMaxPool, {numbers(x, 1)}, attrs);
  expect_same(Op::kAvgPool, {numbers(x, 1)}, attrs);
  const HostTensor dy = numbers(evaluate(Op::kMaxPool, {numbers(x, 1)}, attrs).shape(), 2);
  expect_same(Op::kMaxPoolGrad, {numbers(x, 1), dy}, attrs);
  Attrs of_x = attrs;
  of_x.set(Attr::kShape, x.sizes());
  expect_same(Op::kAvgPoolGrad, {dy}, of_x);
}

}  // namespace
}  // namespace lockstep
