#include "trainer/optimizers/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace lockstep {
namespace {

SchedulerConfig cosine(std::int64_t warmup, std::int64_t decay = 0) {
  return {
      .name = SchedulerName::kCosine, .warmup_steps = warmup, .min_lr = 1e-4, .decay_steps = decay};
}

TEST(Schedule, WarmUpRisesLinearlyAndReachesThePeakOnItsLastStep) {
  const Schedule schedule(cosine(100), 1e-3, 2000);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(0), 1e-5);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(49), 5e-4);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(99), 1e-3);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(100), 1e-3);
}

TEST(Schedule, CosineIsHalfwayInTheMiddleAndEndsAtTheMinimum) {
  const Schedule schedule(cosine(100), 1e-3, 2100);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1100), (1e-3 + 1e-4) / 2);
  EXPECT_GT(schedule.learning_rate(2099), 1e-4);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(2100), 1e-4);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1'000'000), 1e-4);
}

TEST(Schedule, LinearLosesTheSameEveryStep) {
  const Schedule schedule({.name = SchedulerName::kLinear, .warmup_steps = 0, .min_lr = 0.0}, 1.0,
                          4);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(0), 1.0);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1), 0.75);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(3), 0.25);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(4), 0.0);
}

TEST(Schedule, ConstantStaysAtThePeakAfterWarmUp) {
  const Schedule schedule({.warmup_steps = 2}, 0.5, 10);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1), 0.5);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1000), 0.5);
}

TEST(Schedule, DecayStepsTakePrecedenceOverTheLengthOfTheRun) {
  const Schedule schedule(cosine(0, 10), 1e-3, 1000);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(10), 1e-4);
}

TEST(Schedule, NeverLeavesTheRangeFromZeroToThePeakAndNeverRisesAfterWarmUp) {
  EXPECT_TRUE(rc::check([] {
    SchedulerConfig config;
    config.name =
        *rc::gen::element(SchedulerName::kConstant, SchedulerName::kLinear, SchedulerName::kCosine);
    config.warmup_steps = *rc::gen::inRange(0, 50);
    config.min_lr = 1e-4;
    config.decay_steps = *rc::gen::inRange(0, 200);
    const Schedule schedule(config, 1e-3, *rc::gen::inRange(0, 200));
    for (std::int64_t step = 0; step < 250; ++step) {
      const double rate = schedule.learning_rate(step);
      RC_ASSERT(rate > 0.0);
      RC_ASSERT(rate <= 1e-3);
      RC_ASSERT(step < config.warmup_steps || schedule.learning_rate(step + 1) <= rate);
    }
  }));
}

}  // namespace
}  // namespace lockstep
