#include "data/sampler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "data/permutation.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

std::vector<std::int64_t> order(std::uint64_t seed, std::uint64_t epoch, std::int64_t size) {
  const Permutation permutation(seed, epoch, size);
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < size; ++i) out.push_back(permutation(i));
  return out;
}

class PermutationOfSize : public testing::TestWithParam<std::int64_t> {};

TEST_P(PermutationOfSize, HitsEveryIndexOnce) {
  auto indices = order(1, 2, GetParam());
  std::ranges::sort(indices);
  for (std::int64_t i = 0; i < GetParam(); ++i) {
    ASSERT_EQ(indices[static_cast<std::size_t>(i)], i);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PermutationOfSize,
                         testing::Values(1, 2, 3, 4, 5, 10, 64, 1000, 4096, 4097));

TEST(Permutation, DiffersBetweenEpochsAndSeeds) {
  EXPECT_EQ(order(1, 0, 1000), order(1, 0, 1000));
  EXPECT_NE(order(1, 0, 1000), order(1, 1, 1000));
  EXPECT_NE(order(1, 0, 1000), order(2, 0, 1000));
}

// Each index should come first equally often. With n indices and k epochs, the statistic has n - 1
// degrees of freedom; 99.99 % of fair draws stay below the limit.
void expect_fair_start(std::int64_t size, double limit) {
  constexpr int kEpochs = 20000;
  std::vector<double> counts(static_cast<std::size_t>(size));
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    ++counts[static_cast<std::size_t>(Permutation(5, static_cast<std::uint64_t>(epoch), size)(0))];
  }
  const double expected = static_cast<double>(kEpochs) / static_cast<double>(size);
  double chi_square = 0;
  for (const double count : counts)
    chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, limit) << "size " << size;
}

TEST(Permutation, FavoursNoIndexEvenInTinyDatasets) {
  expect_fair_start(2, 15.1);
  expect_fair_start(3, 18.4);
  expect_fair_start(10, 33.7);
}

TEST(Permutation, WorksForHugeDatasetsWithoutATable) {
  const std::int64_t size = (std::int64_t{1} << 40) + 7;
  const Permutation permutation(3, 1, size);
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::int64_t index = permutation(size - 1 - i);
    EXPECT_GE(index, 0);
    EXPECT_LT(index, size);
    seen.insert(index);
  }
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(StepSampler, WithoutShufflingTakesSamplesInOrder) {
  const StepSampler sampler(1, 100, 12, false);
  EXPECT_EQ(sampler.steps_per_epoch(), 8);
  EXPECT_EQ(sampler.micro_batch_indices(2, 1, 3), (std::vector<std::int64_t>{27, 28, 29}));
  EXPECT_EQ(sampler.micro_batch_indices(8, 0, 2), (std::vector<std::int64_t>{0, 1}))
      << "the next epoch starts over";
  EXPECT_EQ(sampler.epoch_of(7), 0);
  EXPECT_EQ(sampler.epoch_of(8), 1);
}

RC_GTEST_PROP(StepSampler, NoSampleComesTwiceInAnEpoch, ()) {
  const auto micro = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto micro_batches = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto size = *rc::gen::inRange<std::int64_t>(micro * micro_batches, 200);
  const auto epoch = *rc::gen::inRange<std::int64_t>(0, 5);
  const StepSampler sampler(*rc::gen::arbitrary<std::uint64_t>(), size, micro * micro_batches,
                            true);
  const std::int64_t steps = sampler.steps_per_epoch();
  std::set<std::int64_t> seen;
  for (std::int64_t step = epoch * steps; step < (epoch + 1) * steps; ++step) {
    RC_ASSERT(sampler.epoch_of(step) == epoch);
    for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
      for (const std::int64_t index : sampler.micro_batch_indices(step, micro_batch, micro)) {
        RC_ASSERT(index >= 0 && index < size);
        RC_ASSERT(seen.insert(index).second);
      }
    }
  }
  RC_ASSERT(static_cast<std::int64_t>(seen.size()) ==
            size / (micro * micro_batches) * micro * micro_batches);
}

TEST(StepSampler, TheStepsSamplesDoNotDependOnTheMicroBatch) {
  const StepSampler sampler(9, 100, 12, true);
  std::vector<std::int64_t> by_three;
  for (std::int64_t micro_batch = 0; micro_batch < 4; ++micro_batch) {
    const auto part = sampler.micro_batch_indices(11, micro_batch, 3);
    by_three.insert(by_three.end(), part.begin(), part.end());
  }
  EXPECT_EQ(by_three, sampler.micro_batch_indices(11, 0, 12));
}

TEST(StepSampler, RefusesAGlobalBatchLargerThanTheDataset) {
  EXPECT_EQ(usage_error([] { StepSampler(1, 10, 64, true); }),
            "global_batch_size 64 is larger than the dataset, which has 10 samples: not even one "
            "step fits into an epoch");
  EXPECT_EQ(usage_error([] { StepSampler(1, 10, 0, true); }),
            "global_batch_size must be at least 1, not 0");
}

}  // namespace
}  // namespace lockstep
