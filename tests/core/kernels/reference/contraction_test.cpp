#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/kernels/reference/evaluate.h"

namespace lockstep {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

Attrs dot(Attrs::Ints lhs_batch, Attrs::Ints rhs_batch, Attrs::Ints lhs_contract,
          Attrs::Ints rhs_contract) {
  return {{Attr::kLhsBatch, std::move(lhs_batch)},
          {Attr::kRhsBatch, std::move(rhs_batch)},
          {Attr::kLhsContract, std::move(lhs_contract)},
          {Attr::kRhsContract, std::move(rhs_contract)}};
}

const HostTensor kMatrix = f32({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(ReferenceDotGeneral, MultipliesMatrices) {
  const HostTensor b = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values(Op::kDotGeneral, {kMatrix, b}, dot({}, {}, {1}, {0})),
              ElementsAre(22, 28, 49, 64));
  EXPECT_THAT(values(Op::kDotGeneral, {kMatrix, kMatrix}, dot({}, {}, {1}, {1})),
              ElementsAre(14, 32, 32, 77));
  EXPECT_THAT(values(Op::kDotGeneral, {kMatrix, kMatrix}, dot({}, {}, {0}, {0})),
              ElementsAre(17, 22, 27, 22, 29, 36, 27, 36, 45));
}

TEST(ReferenceDotGeneral, TakesBatchAndSeveralContractedDimensions) {
  // Rows are the batch: the result is the dot product of each row pair.
  EXPECT_THAT(values(Op::kDotGeneral, {kMatrix, kMatrix}, dot({0}, {0}, {1}, {1})),
              ElementsAre(14, 77));
  // Columns are the batch, of a transposed right operand.
  const HostTensor transposed = f32({3, 2}, {1, 4, 2, 5, 3, 6});
  EXPECT_THAT(values(Op::kDotGeneral, {kMatrix, transposed}, dot({1}, {0}, {0}, {1})),
              ElementsAre(17, 29, 45));
  EXPECT_THAT(values(Op::kDotGeneral, {kMatrix, transposed}, dot({}, {}, {0, 1}, {1, 0})),
              ElementsAre(91));
}

TEST(ReferenceDotGeneral, WithoutContractionIsAnOuterProduct) {
  EXPECT_THAT(values(Op::kDotGeneral, {f32({1, 2}), f32({3, 4})}, dot({}, {}, {}, {})),
              ElementsAre(3, 4, 6, 8));
  EXPECT_THAT(values(Op::kDotGeneral, {f32(Shape{}, {2}), f32(Shape{}, {3})}, dot({}, {}, {}, {})),
              ElementsAre(6));
}

TEST(ReferenceDotGeneral, OfNothingIsZero) {
  const HostTensor a = f32(Shape{2, 0}, {});
  EXPECT_THAT(values(Op::kDotGeneral, {a, a}, dot({}, {}, {1}, {1})), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(values(Op::kDotGeneral, {a, kMatrix}, dot({}, {}, {0}, {0})), IsEmpty());
}

TEST(ReferenceDotGeneral, GivesTheRequestedDType) {
  const HostTensor x = tensor(DType::kBF16, {3}, {1, 0x1p-8, 0x1p-8});
  const HostTensor ones = tensor(DType::kBF16, {3}, {1, 1, 1});
  Attrs attrs = dot({}, {}, {0}, {0});
  EXPECT_THAT(values(Op::kDotGeneral, {x, ones}, attrs), ElementsAre(1 + 0x1p-7));
  attrs.set_dtype(DType::kF32);
  EXPECT_THAT(values(Op::kDotGeneral, {x, ones}, attrs), ElementsAre(1 + 0x1p-7));
  attrs.set_dtype(DType::kI32);
  EXPECT_THAT(values(Op::kDotGeneral, {u8({2}, {200, 200}), u8({2}, {200, 1})}, attrs),
              ElementsAre(40200));
}

/// Stride, padding (top, bottom, left, right), dilation, groups.
Attrs convolution(Attrs::Ints stride, Attrs::Ints padding, Attrs::Ints dilation,
                  std::int64_t groups) {
  return {{Attr::kStride, std::move(stride)},
          {Attr::kPadding, std::move(padding)},
          {Attr::kDilation, std::move(dilation)},
          {Attr::kGroups, {groups}}};
}
Attrs with_shape(Attrs attrs, IntView shape) {
  attrs.set(Attr::kShape, shape);
  return attrs;
}

const HostTensor kImage = f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
const HostTensor kFilter = f32({1, 1, 2, 2}, {1, 10, 100, 1000});

TEST(ReferenceConvolution, SlidesTheFilterWithoutFlippingIt) {
  EXPECT_THAT(
      values(Op::kConvolution, {kImage, kFilter}, convolution({1, 1}, {0, 0, 0, 0}, {1, 1}, 1)),
      ElementsAre(5421, 6532, 8754, 9865));
}

TEST(ReferenceConvolution, StridesPadsAndDilates) {
  EXPECT_THAT(
      values(Op::kConvolution, {kImage, kFilter}, convolution({2, 2}, {1, 0, 1, 0}, {1, 1}, 1)),
      ElementsAre(1000, 3200, 7040, 9865));
  EXPECT_THAT(
      values(Op::kConvolution, {kImage, kFilter}, convolution({1, 1}, {0, 0, 0, 0}, {2, 2}, 1)),
      ElementsAre(1 + 30 + 700 + 9000));
  // Different paddings: one row below and one column to the right only.
  EXPECT_THAT(
      values(Op::kConvolution, {kImage, kFilter}, convolution({2, 2}, {0, 1, 0, 1}, {1, 1}, 1)),
      ElementsAre(5421, 603, 87, 9));
}

TEST(ReferenceConvolution, GroupsSeeTheirOwnChannels) {
  const HostTensor x = f32({1, 4, 1, 1}, {1, 2, 3, 4});
  const HostTensor w = f32({2, 2, 1, 1}, {1, 10, 100, 1000});
  EXPECT_THAT(values(Op::kConvolution, {x, w}, convolution({1, 1}, {0, 0, 0, 0}, {1, 1}, 2)),
              ElementsAre(21, 4300));
}

TEST(ReferenceConvolution, OfNoChannelsIsZero) {
  const HostTensor x = f32({1, 0, 2, 2}, {});
  const HostTensor w = f32({1, 0, 2, 2}, {});
  const Attrs attrs = convolution({1, 1}, {0, 0, 0, 0}, {1, 1}, 1);
  EXPECT_THAT(values(Op::kConvolution, {x, w}, attrs), ElementsAre(0));
  EXPECT_THAT(values(Op::kConvolution, {f32({0, 1, 3, 3}, {}), kFilter}, attrs), IsEmpty());
  EXPECT_THAT(values(Op::kConvolutionGradWeight, {f32({0, 1, 3, 3}, {}), f32({0, 1, 2, 2}, {})},
                     with_shape(attrs, {1, 1, 2, 2})),
              Each(0.0));
}

TEST(ReferenceConvolution, GradientOfTheInputSpreadsTheFilter) {
  const Attrs attrs = convolution({1, 1}, {0, 0, 0, 0}, {1, 1}, 1);
  EXPECT_THAT(values(Op::kConvolutionGradInput, {f32({1, 1, 2, 2}, {1, 0, 0, 2}), kFilter},
                     with_shape(attrs, {1, 1, 3, 3})),
              ElementsAre(1, 10, 0, 100, 1002, 20, 0, 200, 2000));
}

TEST(ReferenceConvolution, GradientOfTheWeightSumsTheImage) {
  const Attrs attrs = convolution({1, 1}, {0, 0, 0, 0}, {1, 1}, 1);
  EXPECT_THAT(values(Op::kConvolutionGradWeight, {kImage, f32({1, 1, 2, 2}, {1, 0, 0, 10})},
                     with_shape(attrs, {1, 1, 2, 2})),
              ElementsAre(51, 62, 84, 95));
}

/// Both gradients are adjoints of the convolution: <conv(x, w), dy> = <x, dx> = <w, dw>.
TEST(ReferenceConvolution, GradientsAreAdjoint) {
  const auto numbers = [](Shape shape, int seed) {
    std::vector<double> out;
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      out.push_back(static_cast<double>((i * 7 + seed) % 11 - 5));
    return f64(shape, out);
  };
  const auto inner = [](const HostTensor& a, const HostTensor& b) {
    const std::vector<double> x = to_doubles(a);
    const std::vector<double> y = to_doubles(b);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
  };
  const Attrs attrs = convolution({2, 1}, {1, 0, 2, 1}, {1, 2}, 2);
  const HostTensor x = numbers({2, 4, 5, 6}, 1);
  const HostTensor w = numbers({6, 2, 3, 2}, 2);
  const HostTensor y = evaluate(Op::kConvolution, {x, w}, attrs);
  const HostTensor dy = numbers(y.shape(), 3);
  const HostTensor dx =
      evaluate(Op::kConvolutionGradInput, {dy, w}, with_shape(attrs, x.shape().sizes()));
  const HostTensor dw =
      evaluate(Op::kConvolutionGradWeight, {x, dy}, with_shape(attrs, w.shape().sizes()));
  EXPECT_NE(inner(y, dy), 0);
  EXPECT_EQ(inner(y, dy), inner(x, dx));
  EXPECT_EQ(inner(y, dy), inner(w, dw));
}

}  // namespace
}  // namespace lockstep
