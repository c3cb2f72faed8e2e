// While the ranks train, they read one more sample now and then, and find that it differs.
#include "trainer/job/data_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/loader.h"
#include "tests/core/engine/rank.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr std::int64_t kNumberCount = 40;
constexpr std::int64_t kInterval = 5;

/// Sample i holds i, and on some rank one number more or less.
class Numbers final : public Dataset {
 public:
  explicit Numbers(std::string file, std::int64_t error = 0)
      : file_(std::move(file)), error_(error) {}
  std::int64_t size() const override { return kNumberCount; }
  std::vector<FieldSpec> fields() const override { return {{"number", DType::kF32, Shape{1}}}; }
  Sample get(std::int64_t index) const override {
    const auto value = static_cast<float>(index >= kNumberCount / 2 ? index + error_ : index);
    return {{"number", HostTensor::of(Shape{1}, std::vector<float>{value})}};
  }
  std::string digest() const override { return {}; }
  std::string describe() const override { return "numbers"; }
  std::string source(std::int64_t) const override { return file_; }

 private:
  std::string file_;
  std::int64_t error_;
};

/// A rank that trains on `data` until step `end`, one step after another.
void train(Communicator& communicator, const DatasetPtr& data, int workers, std::int64_t end) {
  DataWatch watch(data, 7, kInterval, communicator.topology());
  // No rank trains on a sample that differs: it is for the watch to find it.
  const auto common = std::make_shared<Numbers>("");
  Loader loader(common, StepSampler(1, kNumberCount, 4, true),
                {.workers = workers, .beside = [&watch](std::int64_t step) { watch.look(step); }});
  Rank rank(communicator);
  Tensor p = rank.variable({1.0F}, "p");
  rank.engine.start_state_check(kInterval);
  for (std::int64_t step = 0; step < end; ++step) {
    const StepBatch batch = loader.next();
    rank.engine.set_step(step);
    rank.engine.carry(watch.take(step));
    const Tensor x =
        rank.engine.to_device({batch.micro_batches[0].at("number")}, InputKind::kBatch, "x");
    p.assign(p - all_reduce(sum(x)) * 0.001);
    rank.engine.mark_step(SyncReason::kStepEnd);
    rank.engine.wait();
  }
}

/// What each rank's error is.
std::vector<std::string> errors_of(const std::vector<DatasetPtr>& data, int workers,
                                   std::int64_t end) {
  const auto body = [&](Communicator& communicator) {
    train(communicator, data[static_cast<std::size_t>(communicator.rank())], workers, end);
  };
  return errors_on_ranks(static_cast<int>(data.size()), ErrorKind::kData, body);
}

/// The first step whose sample is one of those that differ.
std::int64_t first_bad_step(const Topology& topology) {
  const DataWatch watch(std::make_shared<Numbers>(""), 7, kInterval, topology);
  std::int64_t step = 0;
  while (watch.sample_of(step) < kNumberCount / 2) step += kInterval;
  return step;
}

TEST(DataWatch, OfEqualDataIsSilentWhereverItLies) {
  const std::vector<DatasetPtr> data{std::make_shared<Numbers>("/a/numbers"),
                                     std::make_shared<Numbers>("/b/numbers")};
  EXPECT_THAT(errors_of(data, 2, 4 * kInterval), Each("no error"));
}

TEST(DataWatch, EndsAllRanksWithTheSampleItsFilesAndTheRanks) {
  const std::vector<DatasetPtr> data{std::make_shared<Numbers>("/a/numbers"),
                                     std::make_shared<Numbers>("/a/numbers"),
                                     std::make_shared<Numbers>("/b/numbers", 1)};
  const auto topology = make_in_process_communicators(1);
  const std::int64_t step = first_bad_step(topology[0]->topology());
  const std::int64_t sample =
      DataWatch(data[0], 7, kInterval, topology[0]->topology()).sample_of(step);
  for (const int workers : {0, 2}) {
    SCOPED_TRACE(workers);
    EXPECT_THAT(errors_of(data, workers, step), Each("no error")) << "it is not yet its turn";
    const std::vector<std::string> errors = errors_of(data, workers, step + 1);
    EXPECT_THAT(errors, Each(errors[0]));
    EXPECT_THAT(
        errors[0],
        AllOf(HasSubstr(fmt::format("step {}: the ranks read different data: sample {} "
                                    "has hash ",
                                    step, sample)),
              HasSubstr(", /a/numbers, on ranks 0 1"), HasSubstr(", /b/numbers, on rank 2")));
  }
}

TEST(DataWatch, LooksAtOneSampleInAnInterval) {
  const auto topology = make_in_process_communicators(1);
  DataWatch watch(std::make_shared<Numbers>(""), 7, kInterval, topology[0]->topology());
  int looks = 0;
  for (std::int64_t step = 3; step < 3 + 4 * kInterval; ++step) {
    watch.look(step);
    looks += watch.take(step) == nullptr ? 0 : 1;
    EXPECT_EQ(watch.take(step), nullptr) << "once";
  }
  EXPECT_EQ(looks, 4);
}

TEST(DataWatch, ChoosesAnotherSampleEachTime) {
  const auto topology = make_in_process_communicators(1);
  const DataWatch watch(std::make_shared<Numbers>(""), 7, 1, topology[0]->topology());
  std::vector<int> counts(kNumberCount);
  for (std::int64_t step = 0; step < 50 * kNumberCount; ++step)
    ++counts[static_cast<std::size_t>(watch.sample_of(step))];
  EXPECT_THAT(counts, Each(testing::AllOf(testing::Gt(15), testing::Lt(100))));
}

}  // namespace
}  // namespace lockstep
