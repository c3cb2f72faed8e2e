// A step over several micro-batches and ranks.
#include <cmath>
#include <cstring>

#include "core/base/log.h"
#include "core/base/reduce_tree.h"
#include "core/trace/gradients.h"
#include "tests/core/engine/rank.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

/// Numbers whose sums round differently in every order.
std::vector<float> micro_batch_values(std::int64_t micro_batch, std::int64_t step) {
  std::vector<float> out;
  for (int i = 0; i < 5; ++i)
    out.push_back(
        static_cast<float>(std::sin(static_cast<double>(97 * micro_batch + 13 * i + 5 * step + 1)) *
                           std::pow(10.0, static_cast<double>((micro_batch + i) % 4))));
  return out;
}

/// Trains p for three steps on micro-batches [first, first + count) of every step; returns p's
/// bits.
std::vector<float> train_micro_batches(Rank& rank, std::int64_t first, std::int64_t count) {
  Tensor p = rank.variable({1, 2, 3, 4, 5});
  for (std::int64_t step = 0; step < 3; ++step) {
    std::vector<std::vector<float>> micro_batches;
    for (std::int64_t k = 0; k < count; ++k)
      micro_batches.push_back(micro_batch_values(first + k, step));
    const Tensor x = rank.batch(micro_batches);
    const Tensor loss = sum(tanh(p * x) * x);
    const Tensor gradient = gradients(loss, std::vector<Tensor>{p})[0];
    const Tensor norm = sqrt(all_reduce(sum(x * x)));
    p.assign(p - all_reduce(gradient) / norm);
    rank.engine.mark_step();
  }
  return values_of(p);
}

std::vector<float> train_on_one_rank(std::int64_t micro_batches) {
  Rank rank;
  return train_micro_batches(rank, 0, micro_batches);
}

std::vector<std::vector<float>> train_on_ranks(int ranks, std::int64_t micro_batches,
                                               const BucketOptions& buckets) {
  std::vector<std::vector<float>> out(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](Communicator& communicator) {
    Rank rank(communicator, buckets);
    const std::int64_t count = micro_batches / ranks;
    out[static_cast<std::size_t>(communicator.rank())] =
        train_micro_batches(rank, communicator.rank() * count, count);
  });
  return out;
}

TEST(MicroBatches, OfEveryNumberAreSummedInTreeOrder) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (std::int64_t micro_batches = 1; micro_batches <= 5; ++micro_batches) {
    Rank rank;
    std::vector<std::vector<float>> batch;
    for (std::int64_t k = 0; k < micro_batches; ++k) batch.push_back(micro_batch_values(k, 0));
    const Tensor total = all_reduce(rank.batch(batch) * 1.5);
    const std::vector<float> result = values_of(total);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const float expected = tree_reduce(
          0, micro_batches,
          [&](std::int64_t k) { return batch[static_cast<std::size_t>(k)][i] * 1.5F; },
          [](float a, float b) { return a + b; });
      EXPECT_EQ(bits(result[i]), bits(expected))
          << micro_batches << " micro-batches, element " << i;
    }
  }
}

TEST(MicroBatches, GiveTheSameBitsOnAnyNumberOfRanksThatOwnSubtrees) {
  for (const std::int64_t micro_batches : {1, 2, 4, 8}) {
    const std::vector<float> expected = train_on_one_rank(micro_batches);
    for (const int ranks : {2, 4}) {
      if (micro_batches % ranks != 0) continue;
      ASSERT_TRUE(ranks_own_subtrees(micro_batches, ranks));
      for (const bool overlap : {true, false}) {
        const BucketOptions buckets{
            .bucket_bytes = 64, .first_bucket_bytes = 1, .overlap = overlap};
        for (const std::vector<float>& result : train_on_ranks(ranks, micro_batches, buckets))
          EXPECT_EQ(std::memcmp(result.data(), expected.data(), expected.size() * sizeof(float)), 0)
              << micro_batches << " micro-batches on " << ranks << " ranks, overlap " << overlap;
      }
    }
  }
}

TEST(MicroBatches, OfThreeAndFivePerRankAgreeBetweenTheRanks) {
  for (const std::int64_t micro_batches : {6, 10}) {
    const auto results = train_on_ranks(2, micro_batches, {});
    EXPECT_EQ(results[0], results[1]);
    const std::vector<float> expected = train_on_one_rank(micro_batches);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(results[0][i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
  }
}

TEST(MicroBatches, MayUseAValueThatIsReducedAsWell) {
  std::vector<std::vector<float>> batch;
  for (std::int64_t k = 0; k < 3; ++k) batch.push_back(micro_batch_values(k, 0));
  float expected = 0;
  for (const auto& micro_batch : batch) {
    float square = 0;
    for (const float x : micro_batch) square += x * x;
    expected += square;
  }
  std::vector<float> identity(25, 0.0F);
  for (std::size_t i = 0; i < 5; ++i) identity[6 * i] = 1;
  Rank rank({}, Log::null(), {.bucket_bytes = 1, .first_bucket_bytes = 1});
  const Tensor w = reshape(rank.variable(identity), Shape{5, 5});
  const Tensor row = matmul(reshape(rank.batch(batch), Shape{1, 5}), w);
  // The first sum is ready to be formed in place while the second dot still reads the micro-batch's
  // row.
  const Tensor sums = all_reduce(row);
  const Tensor squares = all_reduce(matmul(row, reshape(row, Shape{5, 1})));
  rank.engine.mark_step();
  EXPECT_NEAR(squares.item(), expected, 1e-5 * expected);
}

TEST(MicroBatchValue, CannotBeReadWhileItDiffersBetweenMicroBatches) {
  Rank rank;
  const Tensor x = rank.batch({{1, 2}, {3, 4}, {5, 6}});
  const int line = __LINE__ + 1;
  const Tensor y = x * 2.0;
  rank.engine.mark_step();
  EXPECT_EQ(error_of([&] { (void)y.to_host(); }),
            fmt::format("2: f32[2] micro_batches_test.cpp:{} has one value for each of 3 "
                        "micro-batches: all_reduce it before reading",
                        line));
}

TEST(MicroBatchValue, OfASingleMicroBatchCanBeRead) {
  Rank rank;
  const Tensor y = rank.batch({{1, 2}}) * 2.0;
  EXPECT_THAT(values_of(y), ElementsAre(2, 4));
}

TEST(MicroBatchValue, StaysOnePerMicroBatchInLaterSteps) {
  Rank rank;
  const Tensor y = rank.batch({{1, 2}, {3, 4}, {5, 6}}) * 2.0;
  rank.engine.mark_step();
  const Tensor z = y + 1.0;
  rank.engine.mark_step();
  EXPECT_THAT(values_of(all_reduce(z)), ElementsAre(21, 27));
}

TEST(AllReduce, OfAValueWithoutMicroBatchesCountsItOncePerMicroBatch) {
  Rank rank;
  const Tensor x = rank.batch({{1, 2}, {3, 4}, {5, 6}});
  const Tensor total = all_reduce(x);
  const Tensor micro_batches = all_reduce(rank.context.scalar(1, DType::kI64, "one"));
  rank.engine.mark_step();
  EXPECT_THAT(values_of(total), ElementsAre(9, 12));
  EXPECT_EQ(micro_batches.item(), 3);
}

}  // namespace
}  // namespace lockstep
