#include "collectives/tree_sum.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "tests/collectives/oracle.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

// Sums `ranks` operands of `count` elements; into a new vector, or into operand number `alias`.
template <class T>
std::vector<T> sum(std::uint64_t seed, int ranks, std::int64_t count, int alias = -1) {
  std::vector<std::vector<T>> inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(operands<T>(seed, rank, count));
  std::vector<const std::byte*> pointers;
  for (const auto& input : inputs) {
    pointers.push_back(reinterpret_cast<const std::byte*>(input.data()));
  }
  std::vector<T> separate(static_cast<std::size_t>(count));
  std::vector<T>& out = alias < 0 ? separate : inputs[static_cast<std::size_t>(alias)];
  tree_sum(DTypeOf<T>::value, pointers, reinterpret_cast<std::byte*>(out.data()), count);
  return out;
}

template <class T>
class TreeSum : public testing::Test {};
using SummedTypes = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(TreeSum, SummedTypes);

TYPED_TEST(TreeSum, IsTheSerialTreeForAnyRanksAndLength) {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 13}) {
    for (const std::int64_t count : {0, 1, 3, 511, 512, 513, 5000}) {
      EXPECT_EQ(bits_of(sum<TypeParam>(1, ranks, count)),
                bits_of(serial_sums<TypeParam>(1, ranks, count)))
          << ranks << " ranks, " << count << " elements";
    }
  }
}

TYPED_TEST(TreeSum, MayWriteToAnyOfItsOperands) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (int alias = 0; alias < ranks; ++alias) {
      EXPECT_EQ(bits_of(sum<TypeParam>(2, ranks, 1300, alias)),
                bits_of(serial_sums<TypeParam>(2, ranks, 1300)))
          << ranks << " ranks, written to operand " << alias;
    }
  }
}

TEST(TreeSumOrder, IsNotTheOrderOfALoop) {
  // The oracle's values must be able to tell one order from another.
  const auto tree = serial_sums<float>(3, 4, 1000);
  std::vector<float> loop(1000, 0.0F);
  for (int rank = 0; rank < 4; ++rank) {
    const auto values = operands<float>(3, rank, 1000);
    for (std::size_t k = 0; k < 1000; ++k) loop[k] += values[k];
  }
  EXPECT_NE(bits_of(tree), bits_of(loop));
}

TEST(TreeSumIntegers, WrapAround) {
  const std::vector<std::int32_t> high(5, std::numeric_limits<std::int32_t>::max());
  const std::vector<std::int32_t> one(5, 1);
  std::vector<std::int32_t> out(5);
  const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(high.data()),
                               reinterpret_cast<const std::byte*>(one.data())};
  tree_sum(DType::kI32, inputs, reinterpret_cast<std::byte*>(out.data()), 5);
  EXPECT_THAT(out, testing::Each(std::numeric_limits<std::int32_t>::min()));
}

TEST(CanSum, FourDTypes) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kI64}) {
    EXPECT_TRUE(can_sum(dtype)) << name_of(dtype);
  }
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kU8, DType::kBool}) {
    EXPECT_FALSE(can_sum(dtype)) << name_of(dtype);
  }
}

}  // namespace
}  // namespace lockstep
