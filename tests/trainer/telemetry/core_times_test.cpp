#include "trainer/telemetry/core_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

TelemetryRecord record_at(std::int64_t step, double core_use) {
  TelemetryRecord out;
  out.step = step;
  out.step_ms = 10;
  out.core_use = core_use;
  out.exposed_gap_ms = 1;
  return out;
}

TEST(CoreTimesSum, LeavesOutTheFirstRecordAndWeighsByTheirSteps) {
  CoreTimesSum sum;
  EXPECT_EQ(sum.means().steps, 0);
  sum.add(record_at(1, 0.01));
  EXPECT_EQ(sum.means().steps, 0);
  sum.add(record_at(11, 0.5));
  sum.add(TelemetryRecord{.step = 15});  // of an evaluation: without the measurements
  sum.add(record_at(41, 0.7));
  EXPECT_EQ(sum.means().steps, 40);
  EXPECT_DOUBLE_EQ(sum.means().seconds, 0.4);
  EXPECT_DOUBLE_EQ(sum.means().computing, (10 * 0.5 + 30 * 0.7) / 40);
  EXPECT_DOUBLE_EQ(sum.means().waiting_for_host, 0.1);
  EXPECT_DOUBLE_EQ(sum.means().without_task(), 1 - 0.65 - 0.1);
}

const CoreTimes kIdle = {.steps = 100, .seconds = 2, .computing = 0.55, .waiting_for_ranks = 0.1};

TEST(CoreAdvice, SaysNothingOfBusyCoresOrOfFewSteps) {
  EXPECT_EQ(core_advice({.steps = 100, .seconds = 9, .computing = 0.8}, {.threads = 2}), "");
  EXPECT_EQ(core_advice({.steps = 19, .seconds = 9, .computing = 0.1}, {.threads = 2}), "");
  EXPECT_EQ(core_advice({.steps = 99, .seconds = 1.9, .computing = 0.1}, {.threads = 2}), "");
  EXPECT_EQ(core_advice({}, {}), "");
}

TEST(CoreAdvice, NamesLongerKernelsOnlyWhereTheBatchAllowsThem) {
  EXPECT_EQ(core_advice(kIdle, {.threads = 2, .micro_batch_size = 4, .micro_batches = 4}),
            "cores: 55 % of their time computed, 35 % had no task beside short kernels: 2 ranks "
            "with device.threads: 1 use as many cores, and a larger training.micro_batch_size than "
            "4 makes longer ones");
  // One micro-batch can neither grow nor be divided.
  const std::string alone = core_advice(kIdle, {.threads = 2, .ranks = 2, .micro_batches = 1});
  EXPECT_THAT(alone, HasSubstr("a larger training.global_batch_size makes longer ones"));
  EXPECT_THAT(alone, Not(HasSubstr("ranks with")));
  // Two of them cannot be divided over 4 ranks.
  EXPECT_THAT(core_advice(kIdle, {.threads = 4, .micro_batch_size = 8, .micro_batches = 2}),
              Not(HasSubstr("ranks with")));
}

TEST(CoreAdvice, NamesWhatTakesMost) {
  const auto advice = [](CoreTimes times) {
    times.steps = 100;
    times.seconds = 10;
    times.computing = 0.5;
    return core_advice(times, {.threads = 2, .ranks = 2, .micro_batches = 2});
  };
  EXPECT_THAT(advice({.waiting_for_ranks = 0.4}), HasSubstr("40 % waited for all-reduces"));
  EXPECT_THAT(advice({.waiting_for_host = 0.4, .waiting_for_data = 0.3}),
              HasSubstr("40 % waited for data: more data.loader_workers"));
  EXPECT_THAT(advice({.waiting_for_host = 0.4, .waiting_for_data = 0.1}),
              HasSubstr("40 % waited for the host"));
}

}  // namespace
}  // namespace lockstep
