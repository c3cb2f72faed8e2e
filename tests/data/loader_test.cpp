#include "data/loader.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include "data/eval_loader.h"
#include "data/samples/subset.h"
#include "data/tokens/synthetic_tokens.h"
#include "data/tokens/token_dataset.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using Indices = std::vector<std::int64_t>;

/// Sample i holds i, after whatever `before` does.
class NumberedDataset final : public Dataset {
 public:
  explicit NumberedDataset(std::int64_t size, std::function<void(std::int64_t)> before = {})
      : size_(size), before_(std::move(before)) {}
  std::int64_t size() const override { return size_; }
  std::vector<FieldSpec> fields() const override { return {{"number", DType::kI64, Shape{}}}; }
  Sample get(std::int64_t index) const override {
    check_index(*this, index);
    ++fetched;
    if (before_) before_(index);
    return {{"number", HostTensor::scalar(index)}};
  }
  std::string digest() const override { return {}; }
  std::string describe() const override { return "numbers"; }
  std::string source(std::int64_t) const override { return "numbers.bin"; }

  mutable std::atomic<std::int64_t> fetched{0};

 private:
  std::int64_t size_;
  std::function<void(std::int64_t)> before_;
};

Indices numbers_of(const HostBatch& batch, const std::string& field = "number") {
  const auto values = batch.at(field).as<const std::int64_t>();
  return {values.begin(), values.end()};
}

void sleep_ms(std::int64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

class LoaderWith : public testing::TestWithParam<int> {};

TEST_P(LoaderWith, TellsOfEachStepOnceBeforeItIsHandedOut) {
  const auto dataset = std::make_shared<NumberedDataset>(96);
  std::array<std::atomic<int>, 8> told{};
  LoaderOptions options;
  options.end_step = std::ssize(told);
  options.micro_batches = 3;
  options.micro_batch_size = 4;
  options.workers = GetParam();
  options.beside = [&told](std::int64_t step) { ++told[static_cast<std::size_t>(step)]; };
  Loader loader(dataset, StepSampler(4, 96, 12, true), options);
  for (const std::atomic<int>& times : told) {
    loader.next();
    EXPECT_EQ(times, 1);
  }
}

TEST_P(LoaderWith, DeliversTheSamplersStepsInOrder) {
  // Later samples of a step are ready sooner, so that workers finish out of order.
  const auto dataset =
      std::make_shared<NumberedDataset>(96, [](std::int64_t i) { sleep_ms((11 - i) % 3); });
  const StepSampler sampler(4, 96, 12, true);
  Loader loader(dataset, sampler,
                {.first_step = 5,
                 .end_step = 20,
                 .first_micro_batch = 1,
                 .micro_batches = 2,
                 .micro_batch_size = 3,
                 .workers = GetParam(),
                 .prefetch = 3});
  for (std::int64_t step = 5; step < 20; ++step) {
    ASSERT_TRUE(loader.has_next());
    const StepBatch batch = loader.next();
    EXPECT_EQ(batch.step, step);
    ASSERT_EQ(batch.micro_batches.size(), 2U);
    EXPECT_EQ(numbers_of(batch.micro_batches[0]), sampler.micro_batch_indices(step, 1, 3));
    EXPECT_EQ(numbers_of(batch.micro_batches[1]), sampler.micro_batch_indices(step, 2, 3));
  }
  EXPECT_FALSE(loader.has_next());
  EXPECT_EQ(dataset->fetched, 15 * 6);
}

TEST_P(LoaderWith, AnExceptionReachesNextWithFileSampleAndCause) {
  const auto dataset = std::make_shared<NumberedDataset>(100, [](std::int64_t i) {
    if (i >= 25) throw std::runtime_error("disk on fire");
  });
  Loader loader(dataset, StepSampler(1, 100, 10, false),
                {.micro_batches = 5, .micro_batch_size = 2, .workers = GetParam()});
  EXPECT_EQ(loader.next().step, 0);
  EXPECT_EQ(loader.next().step, 1);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(data_error([&] { loader.next(); }),
              "sample 25 (numbers.bin) cannot be loaded: disk on fire")
        << "the lowest failing sample, whichever worker was first";
  }
}

TEST_P(LoaderWith, AnExceptionOfUnknownTypeIsReportedToo) {
  const auto dataset = std::make_shared<NumberedDataset>(10, [](std::int64_t) { throw 42; });
  Loader loader(dataset, StepSampler(1, 10, 1, false), {.workers = GetParam()});
  EXPECT_EQ(data_error([&] { loader.next(); }),
            "sample 0 (numbers.bin) cannot be loaded: an exception of unknown type");
}

TEST_P(LoaderWith, EndsWithoutBeingReadToTheEnd) {
  const auto dataset = std::make_shared<NumberedDataset>(1000, [](std::int64_t) { sleep_ms(1); });
  {
    const Loader never_read(dataset, StepSampler(1, 1000, 10, true),
                            {.micro_batch_size = 10, .workers = GetParam(), .prefetch = 50});
  }
  Loader loader(dataset, StepSampler(1, 1000, 10, true),
                {.micro_batch_size = 10, .workers = GetParam(), .prefetch = 50});
  loader.next();
}

INSTANTIATE_TEST_SUITE_P(Workers, LoaderWith, testing::Values(0, 1, 2, 5));

TEST(Loader, FetchesNoFurtherAheadThanItIsAllowed) {
  const auto dataset = std::make_shared<NumberedDataset>(1000);
  Loader loader(dataset, StepSampler(1, 1000, 4, false),
                {.micro_batch_size = 4, .workers = 2, .prefetch = 3});
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::int64_t limit = (step + 3) * 4;
    for (int patience = 0; patience < 2000 && dataset->fetched < limit; ++patience) sleep_ms(1);
    sleep_ms(2);
    EXPECT_EQ(dataset->fetched, limit) << "three steps ahead of step " << step;
    loader.next();
  }
}

TEST(Loader, AResumeIsASeek) {
  const auto dataset =
      std::make_shared<TokenDataset>(std::make_shared<SyntheticTokens>(5000, 100, 1), 16);
  const StepSampler sampler(7, dataset->size(), 8, true);
  Loader whole(dataset, sampler, {.micro_batch_size = 8, .workers = 2});
  Loader resumed(dataset, sampler, {.first_step = 60, .micro_batch_size = 8, .workers = 1});
  for (int step = 0; step < 60; ++step) whole.next();
  for (int step = 60; step < 70; ++step) {
    const StepBatch a = whole.next();
    const StepBatch b = resumed.next();
    EXPECT_EQ(a.step, b.step);
    EXPECT_EQ(to_doubles(a.micro_batches[0].at("tokens")),
              to_doubles(b.micro_batches[0].at("tokens")));
  }
}

TEST(Loader, RefusesImpossibleOptions) {
  const auto dataset = std::make_shared<NumberedDataset>(100);
  const StepSampler sampler(1, 100, 10, true);
  EXPECT_EQ(usage_error(
                [&] { Loader(dataset, sampler, {.first_micro_batch = 4, .micro_batch_size = 3}); }),
            "micro-batches [4, 5) of 3 samples do not fit a global batch of 10");
  const Padding falling{.mode = PaddingMode::kBucket, .buckets = {8, 4}};
  EXPECT_EQ(usage_error([&] { Loader(dataset, sampler, {.padding = falling}); }),
            "buckets must be positive lengths in ascending order");
  EXPECT_EQ(usage_error([&] { Loader(dataset, sampler, {.workers = -1}); }),
            "the number of loader workers must not be negative, but is -1");
  EXPECT_EQ(usage_error([&] { Loader(dataset, sampler, {.workers = 1, .prefetch = 0}); }),
            "loader_prefetch_size must be at least 1 when there are workers, not 0");
}

/// Sample i holds what it was drawn with: i, the seed, and the epoch (-1 in an evaluation).
class DrawnDataset final : public Dataset {
 public:
  std::int64_t size() const override { return 10; }
  std::vector<FieldSpec> fields() const override { return {{"drawn", DType::kI64, Shape{3}}}; }
  Sample get(std::int64_t index) const override { return draw(index, {}); }
  Sample draw(std::int64_t index, const DrawKey& key) const override {
    const std::vector<std::int64_t> values = {index, static_cast<std::int64_t>(key.seed),
                                              key.epoch.value_or(-1)};
    return {{"drawn", HostTensor::of(Shape{3}, values)}};
  }
};

TEST(Loader, SamplesAreDrawnWithSeedAndEpochAndInEvaluationsWithTheSeed) {
  const auto dataset = std::make_shared<DrawnDataset>();
  // Samples of a part of a dataset are drawn as those of the whole.
  const auto part = std::make_shared<SubsetDataset>(dataset, 2, 10);
  Loader loader(part, StepSampler(5, 8, 4, false), {.micro_batch_size = 4, .workers = 2});
  for (std::int64_t step = 0; step < 6; ++step) {
    const Indices drawn = numbers_of(loader.next().micro_batches[0], "drawn");
    for (std::size_t row = 0; row < 4; ++row) {
      EXPECT_EQ(drawn[3 * row], 2 + 4 * (step % 2) + static_cast<std::int64_t>(row));
      EXPECT_EQ(drawn[3 * row + 1], 5);
      EXPECT_EQ(drawn[3 * row + 2], step / 2);
    }
  }
  EvalLoader evaluation(dataset, {.batch_size = 2, .seed = 6});
  EXPECT_EQ(numbers_of(evaluation.next().batch, "drawn"), (Indices{0, 6, -1, 1, 6, -1}));
}

TEST(EvalLoader, MasksTheRowsThatFillUpTheLastBatch) {
  EvalLoader loader(std::make_shared<NumberedDataset>(5), {.batch_size = 3});
  EXPECT_EQ(loader.batches(), 2);
  const EvalBatch first = loader.next();
  EXPECT_EQ(numbers_of(first.batch), (Indices{0, 1, 2}));
  EXPECT_EQ(to_doubles(first.batch.at("mask")), (std::vector<double>{1, 1, 1}));
  const EvalBatch last = loader.next();
  EXPECT_EQ(last.index, 1);
  EXPECT_EQ(numbers_of(last.batch), (Indices{3, 4, 0}));
  EXPECT_EQ(last.batch.at("mask").dtype(), DType::kF32);
  EXPECT_EQ(to_doubles(last.batch.at("mask")), (std::vector<double>{1, 1, 0}));
  EXPECT_FALSE(loader.has_next());
}

TEST(EvalLoader, BatchesAreTheSameForAnyNumberOfRanks) {
  const auto dataset = std::make_shared<NumberedDataset>(50);
  for (std::int64_t ranks = 1; ranks <= 20; ranks += 3) {
    std::vector<Indices> by_index(13);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      EvalLoader loader(dataset,
                        {.batch_size = 4, .rank = rank, .ranks = ranks, .workers = rank % 2 == 0});
      EXPECT_EQ(loader.batches(), 13);
      while (loader.has_next()) {
        const EvalBatch batch = loader.next();
        auto& slot = by_index.at(static_cast<std::size_t>(batch.index));
        EXPECT_TRUE(slot.empty()) << "batch " << batch.index << " came twice";
        slot = numbers_of(batch.batch);
      }
    }
    for (std::int64_t k = 0; k < 12; ++k) {
      EXPECT_EQ(by_index[static_cast<std::size_t>(k)],
                (Indices{4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3}));
    }
    EXPECT_EQ(by_index[12], (Indices{48, 49, 0, 0}));
  }
}

TEST(EvalLoader, CanStopEarly) {
  const auto dataset = std::make_shared<NumberedDataset>(50);
  EXPECT_EQ(EvalLoader(dataset, {.batch_size = 4, .max_batches = 3}).batches(), 3);
  EXPECT_EQ(EvalLoader(dataset, {.batch_size = 4, .max_batches = 300}).batches(), 13);
  EXPECT_FALSE(EvalLoader(dataset, {.batch_size = 4, .max_batches = 0}).has_next());
  EXPECT_EQ(usage_error([&] { EvalLoader(dataset, {.rank = 2, .ranks = 2}); }),
            "rank 2 of 2 ranks");
}

}  // namespace
}  // namespace lockstep
