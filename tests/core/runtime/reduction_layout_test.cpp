// Where reduced values lie, and in which buckets.
#include "core/runtime/reduction_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

const std::vector<Type> kReduced = {
    {DType::kF32, Shape{5}},  {DType::kI64, Shape{}},   {DType::kF32, Shape{3, 40}},
    {DType::kF64, Shape{2}},  {DType::kF32, Shape{0}},  {DType::kF32, Shape{17}},
    {DType::kI32, Shape{33}}, {DType::kF32, Shape{64}},
};

TEST(ReductionBuffers, AreOnePerBitOfTheNumberOfMicroBatches) {
  const std::vector<int> expected = {1, 2, 2, 3, 3, 3, 3, 4, 4};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(reduction_buffers(static_cast<std::int64_t>(i) + 1), expected[i]);
  EXPECT_EQ(reduction_buffers(1000), 10);
}

TEST(ReductionLayout, PutsEveryValueInOneBucketOfItsDtype) {
  for (const std::int64_t bytes : {1, 300, 1 << 20}) {
    const ReductionLayout layout =
        plan_reduction(kReduced, {.bucket_bytes = bytes, .first_bucket_bytes = bytes});
    std::vector<int> seen(kReduced.size(), 0);
    for (std::size_t b = 0; b < layout.buckets.size(); ++b) {
      const Bucket& bucket = layout.buckets[b];
      const std::int64_t end =
          bucket.offset + bucket.count * static_cast<std::int64_t>(size_of(bucket.dtype));
      EXPECT_EQ(end, b + 1 < layout.buckets.size() ? layout.buckets[b + 1].offset : layout.bytes);
      for (const std::int32_t value : bucket.values) {
        const auto v = static_cast<std::size_t>(value);
        ++seen[v];
        EXPECT_EQ(kReduced[v].dtype, bucket.dtype);
        EXPECT_EQ(layout.bucket_of[v], static_cast<std::int32_t>(b));
        EXPECT_EQ(layout.offsets[v] % 64, 0);
        EXPECT_GE(layout.offsets[v], bucket.offset);
        EXPECT_LE(layout.offsets[v] + layout.sizes[v], end);
      }
    }
    EXPECT_THAT(seen, testing::Each(1));
  }
}

TEST(ReductionLayout, HasASmallFirstBucketAndASignature) {
  const std::vector<Type> values(10, Type{DType::kF32, Shape{16}});
  const ReductionLayout layout =
      plan_reduction(values, {.bucket_bytes = 256, .first_bucket_bytes = 64});
  std::vector<std::size_t> sizes;
  for (const Bucket& bucket : layout.buckets) sizes.push_back(bucket.values.size());
  EXPECT_THAT(sizes, testing::ElementsAre(1, 4, 4, 1));
  EXPECT_NE(layout.signature,
            plan_reduction(values, {.bucket_bytes = 128, .first_bucket_bytes = 64}).signature);
}

}  // namespace
}  // namespace lockstep
