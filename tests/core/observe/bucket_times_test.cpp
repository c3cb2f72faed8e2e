#include "core/observe/bucket_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/trace/cut_trace.h"

namespace lockstep {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kMillisecond = 1'000'000;

/// A rank whose spans are made by hand; times in ms since the current execution's begin.
struct SpokenRank {
  void all_reduce(std::int64_t bucket, std::int64_t bytes, std::int64_t from, std::int64_t to) {
    tell({.kind = SpanKind::kAllReduce, .args = {bucket, bytes}}, from, to);
  }
  void wait(std::int64_t from, std::int64_t to) {
    tell({.kind = SpanKind::kExposedComm}, from, to);
  }
  void command(bool is_update, std::int64_t from, std::int64_t to) {
    tell({.kind = SpanKind::kCommand, .args = {program, is_update ? 1 : 0}}, from, to);
  }
  void end(SyncReason reason = SyncReason::kStepEnd) {
    tell({.kind = SpanKind::kExecute, .args = {program, static_cast<std::int64_t>(reason), 1}}, 0,
         20);
    begin += 30;
    ++correlation;
  }
  void tell(Span span, std::int64_t from, std::int64_t to) {
    span.begin_ns = (begin + from) * kMillisecond;
    span.end_ns = (begin + to) * kMillisecond;
    span.correlation = correlation;
    times.on_span(span);
  }

  /// Two micro-batches; the second bucket ends `late` ms after the gradient program.
  void step(std::int64_t late = 4) {
    command(false, 1, 3);
    wait(3, 4);
    command(false, 4, 8);
    all_reduce(0, 1024, 6, 9);
    command(false, 8, 10);
    wait(10, 10 + late);
    all_reduce(1, 64, 9, 10 + late);
    command(true, 11 + late, 12 + late);
    command(true, 12 + late, 13 + late);
    end();
  }

  BucketTimes times;
  std::int64_t program = 7;
  std::int64_t begin = 1000;
  std::uint64_t correlation = 1;
};

TEST(BucketTimes, AreMeansOverAllStepsButTheFirst) {
  SpokenRank rank;
  for (const std::int64_t late : {9, 4, 6}) rank.step(late);
  const BucketMeans means = rank.times.means();
  EXPECT_EQ(means.steps, 2);
  EXPECT_DOUBLE_EQ(means.gradient_end_ms, 10);
  EXPECT_DOUBLE_EQ(means.update_begin_ms, 16);
  ASSERT_THAT(means.times, SizeIs(2));
  EXPECT_EQ(means.times[0].bytes, 1024);
  EXPECT_DOUBLE_EQ(means.times[0].begin_ms, 6);
  EXPECT_DOUBLE_EQ(means.times[0].end_ms, 9);
  EXPECT_DOUBLE_EQ(means.times[0].exposed_ms, 0);
  EXPECT_EQ(means.times[1].bucket, 1);
  EXPECT_DOUBLE_EQ(means.times[1].end_ms, 15);
  EXPECT_DOUBLE_EQ(means.times[1].exposed_ms, 5);
}

TEST(BucketTimes, LeaveOutEvaluationsAndWhatAnExecutionThatFailedHadSummed) {
  SpokenRank rank;
  rank.step();
  rank.all_reduce(0, 1024, 1, 20);
  rank.end(SyncReason::kEvaluation);
  rank.all_reduce(0, 1024, 1, 20);
  ++rank.correlation;  // it has failed: its execution is not told
  rank.step();
  const BucketMeans means = rank.times.means();
  EXPECT_EQ(means.steps, 1);
  EXPECT_DOUBLE_EQ(means.times.at(0).end_ms, 9);
}

TEST(BucketTimes, AreOfTheProgramThatRanMost) {
  SpokenRank rank;
  for (int i = 0; i < 3; ++i) rank.step();
  rank.program = 8;
  for (int i = 0; i < 4; ++i) rank.step(6);
  EXPECT_EQ(rank.times.means().steps, 3);
  EXPECT_DOUBLE_EQ(rank.times.means().update_begin_ms, 17);
}

TEST(BucketTimes, KeepFewPrograms) {
  SpokenRank rank;
  for (int i = 0; i < 3; ++i) rank.step();
  for (rank.program = 100; rank.program < 500; ++rank.program) rank.step();
  EXPECT_EQ(rank.times.means().steps, 2);
}

TEST(BucketTimes, AreThereForARankThatIsAlone) {
  SpokenRank rank;
  for (int i = 0; i < 2; ++i) {
    rank.command(true, 2, 3);
    rank.end();
  }
  EXPECT_EQ(rank.times.means().steps, 1);
  EXPECT_THAT(rank.times.means().times, IsEmpty());
  EXPECT_DOUBLE_EQ(rank.times.means().update_begin_ms, 2);
  EXPECT_EQ(rank.times.means().gradient_end_ms, 0);
}

TEST(BucketTimes, ComeFromSeveralThreads) {
  SpokenRank rank;
  rank.step();
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) rank.all_reduce(i % 2, 64, 1, 2);
  });
  for (int i = 0; i < 1000; ++i) rank.all_reduce(i % 2, 64, 1, 2);
  other.join();
  rank.end();
  EXPECT_EQ(rank.times.means().times.at(0).bytes, 64 * 1000);
}

}  // namespace
}  // namespace lockstep
