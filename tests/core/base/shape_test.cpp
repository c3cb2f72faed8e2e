#include "core/base/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

TEST(Shape, ScalarHasOneElement) {
  EXPECT_EQ(Shape{}.rank(), 0);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ(Shape{}.to_string(), "[]");
  EXPECT_THAT(Shape{}.strides(), ElementsAre());
}

TEST(Shape, IsRowMajor) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.elements(), 30);
  EXPECT_THAT(std::vector(shape.sizes().begin(), shape.sizes().end()), ElementsAre(2, 3, 5));
  EXPECT_THAT(shape.strides(), ElementsAre(15, 5, 1));
}

TEST(Shape, MayHaveNoElements) {
  EXPECT_EQ((Shape{4, 0, 3}).elements(), 0);
}

TEST(Shape, RefusesMoreElementsThanMemoryCanHave) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 32;
  const auto refused = [](const char* shape) {
    return ThrowsMessage<Error>(
        std::string("a tensor of shape ") + shape +
        " would have more than 576460752303423488 (2^59) elements, not counting sizes of 0");
  };
  EXPECT_THAT(([] {
                return Shape({{kLarge, "rows"}, kLarge});
              }),
              refused("[rows=4294967296,4294967296]"));
  EXPECT_THAT(([] {
                return Shape(std::vector{kLarge, kLarge / 16});
              }),
              refused("[4294967296,268435456]"))
      << "so many bytes could not be counted";
  EXPECT_EQ((Shape{kLarge, kLarge / 32}).elements(), std::int64_t{1} << 59);
  EXPECT_THAT(([] {
                return Shape({0, kLarge, kLarge});
              }),
              refused("[0,4294967296,4294967296]"))
      << "neither can its strides";
  Shape assembled;
  assembled.push_back(kLarge);
  assembled.push_back(1);
  EXPECT_THAT(
      [&] {
        assembled.push_back({kLarge, "more"});
      },
      refused("[4294967296,1,more=4294967296]"));
  EXPECT_THAT([&] { assembled.set_dim(1, kLarge); }, refused("[4294967296,4294967296]"));
  EXPECT_EQ(assembled, (Shape{kLarge, 1})) << "what was refused has changed nothing";
  assembled.set_dim(0, 0);
  assembled.set_dim(1, kLarge);
  EXPECT_EQ(assembled.elements(), 0);
  EXPECT_THAT([&] { assembled.set_dim(0, kLarge); }, refused("[4294967296,4294967296]"));
  EXPECT_THAT(([] {
                return broadcast_shapes(Shape{kLarge, 1}, Shape{1, kLarge});
              }),
              refused("[4294967296,4294967296]"));
}

TEST(Shape, NegativeIndexCountsFromTheEnd) {
  const Shape shape{2, 3};
  EXPECT_EQ(shape[-1], 3);
  EXPECT_EQ(shape[-2], 2);
  EXPECT_THAT([&] { return shape[2]; },
              ThrowsMessage<Error>("dimension 2 is out of range for the shape [2,3]"));
  EXPECT_THAT([&] { return shape[-3]; },
              ThrowsMessage<Error>("dimension -3 is out of range for the shape [2,3]"));
  EXPECT_THAT([&] { return Shape{}[0]; },
              ThrowsMessage<Error>("dimension 0 is out of range for the shape []"));
}

TEST(Shape, NamesAreLabelsAndNotStructure) {
  const Shape named{{8, "batch"}, {64, "time"}, 3};
  EXPECT_EQ(named.to_string(), "[8,64,3]");
  EXPECT_EQ(named.to_string(true), "[batch=8,time=64,3]");
  EXPECT_EQ(named, (Shape{8, 64, 3}));
}

TEST(Shape, DiffersByRankAndSize) {
  EXPECT_NE((Shape{1}), Shape{});
  EXPECT_NE((Shape{2, 1}), (Shape{2}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
}

TEST(Shape, RefusesNegativeSizesAndTooManyDimensions) {
  EXPECT_THAT(
      [] {
        return Shape({2, -1});
      },
      ThrowsMessage<Error>("dimension 1 of a shape has the negative size -1"));
  Shape shape{2, 3};
  EXPECT_THAT([&] { shape.set_dim(0, -4); },
              ThrowsMessage<Error>("dimension 0 of a shape has the negative size -4"));
  shape.set_dim(-1, Dim(7, "time"));
  EXPECT_EQ(shape.to_string(true), "[2,time=7]");
  EXPECT_THAT([] { return Shape(std::vector<std::int64_t>(9, 1)); },
              ThrowsMessage<Error>("a shape can have at most 8 dimensions"));
}

TEST(Broadcast, StretchesOnesFromTheRight) {
  EXPECT_EQ(broadcast_shapes({8, 1, 3}, {4, 1}), (Shape{8, 4, 3}));
  EXPECT_EQ(broadcast_shapes({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes({1}, {0}), (Shape{0}));
  EXPECT_EQ(broadcast_shapes({0, 1}, {1, 0}), (Shape{0, 0}));
}

TEST(Broadcast, KeepsTheNameOfTheDimensionThatIsNotStretched) {
  EXPECT_EQ(broadcast_shapes({{1, "one"}, 3}, {{8, "batch"}, 1}).to_string(true), "[batch=8,3]");
}

TEST(Broadcast, NamesBothShapesWhenTheyDoNotFit) {
  EXPECT_THAT(
      [] {
        return broadcast_shapes({{8, "batch"}, 3}, {4});
      },
      ThrowsMessage<Error>("shapes [batch=8,3] and [4] cannot be broadcast together: "
                           "dimension 1 is 3 and 4"));
  EXPECT_THAT([] { return broadcast_shapes({0}, {2}); }, testing::Throws<Error>());
}

/// A random list of sizes of which a random part is replaced by 1, so that many pairs fit.
rc::Gen<std::vector<std::int64_t>> any_sizes() {
  return rc::gen::resize(4, rc::gen::container<std::vector<std::int64_t>>(
                                rc::gen::element<std::int64_t>(0, 1, 1, 1, 2, 3)));
}

/// NumPy's rule, on reversed lists padded with ones; empty if the shapes do not fit.
std::vector<std::int64_t> broadcast_oracle(std::vector<std::int64_t> a,
                                           std::vector<std::int64_t> b) {
  const std::size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  for (std::size_t i = 0; i < rank; ++i) {
    if (a[i] == 1) {
      a[i] = b[i];
    } else if (b[i] != 1 && b[i] != a[i]) {
      return {-1};
    }
  }
  return a;
}

RC_GTEST_PROP(Broadcast, FollowsNumPysRule, ()) {
  const auto a = *any_sizes();
  const auto b = *any_sizes();
  const auto expected = broadcast_oracle(a, b);
  if (expected == std::vector<std::int64_t>{-1}) {
    RC_ASSERT_THROWS_AS(broadcast_shapes(Shape(a), Shape(b)), Error);
  } else {
    RC_ASSERT(broadcast_shapes(Shape(a), Shape(b)) == Shape(expected));
    RC_ASSERT(broadcast_shapes(Shape(b), Shape(a)) == Shape(expected));
  }
}

RC_GTEST_PROP(Shape, StridesEnumerateTheElementsInOrder, ()) {
  const Shape shape(*any_sizes());
  const auto strides = shape.strides();
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t flat = 0; flat < shape.elements(); ++flat) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
    RC_ASSERT(offset == flat);
    for (int i = shape.rank() - 1; i >= 0; --i) {
      auto& digit = index[static_cast<std::size_t>(i)];
      if (++digit < shape[i]) break;
      digit = 0;
    }
  }
}

}  // namespace
}  // namespace lockstep
