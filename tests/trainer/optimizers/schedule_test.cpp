#include "trainer/optimizers/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <vector>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

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

/// The rates of steps [0, count), from a peak of 1.
std::vector<double> rates(const SchedulerConfig& config, std::int64_t count) {
  const Schedule schedule(config, 1.0, count);
  std::vector<double> out;
  for (std::int64_t step = 0; step < count; ++step) out.push_back(schedule.learning_rate(step));
  return out;
}

TEST(Schedule, PolynomialHasThePowerOfWhatIsLeft) {
  EXPECT_THAT(rates({.name = SchedulerName::kPolynomial, .power = 2}, 4),
              ElementsAre(1, 0.5625, 0.25, 0.0625));
  EXPECT_EQ(rates({.name = SchedulerName::kPolynomial, .warmup_steps = 3, .min_lr = 0.5}, 20),
            rates({.name = SchedulerName::kLinear, .warmup_steps = 3, .min_lr = 0.5}, 20));
}

TEST(Schedule, InverseSqrtHalvesAfterThreeTimescales) {
  const Schedule warm({.name = SchedulerName::kInverseSqrt, .warmup_steps = 8}, 1.0, 0);
  EXPECT_DOUBLE_EQ(warm.learning_rate(7), 1);
  EXPECT_DOUBLE_EQ(warm.learning_rate(8), 1);
  EXPECT_DOUBLE_EQ(warm.learning_rate(8 + 24), 0.5);
  const Schedule given({.name = SchedulerName::kInverseSqrt, .warmup_steps = 8, .timescale = 2},
                       1.0, 0);
  EXPECT_DOUBLE_EQ(given.learning_rate(8 + 6), 0.5);
  EXPECT_DOUBLE_EQ(Schedule({.name = SchedulerName::kInverseSqrt}, 1.0, 0).learning_rate(30'000),
                   0.5);
}

TEST(Schedule, OneCycleRisesAndFallsByHalfACosine) {
  // The peak is at step 0.5 * 10 - 1.
  const SchedulerConfig config{.name = SchedulerName::kOneCycle,
                               .decay_steps = 10,
                               .pct_start = 0.5,
                               .div_factor = 4,
                               .final_div_factor = 5};
  const Schedule schedule(config, 1.0, 99);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(2), (1 + 0.25) / 2);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(4), 1);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(9), 0.05);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(50), 0.05);
  SchedulerConfig falls = config;
  falls.pct_start = 0;
  EXPECT_DOUBLE_EQ(Schedule(falls, 1.0, 99).learning_rate(0), 1);
}

TEST(Schedule, WsdStaysAtThePeakUntilTheCooldown) {
  SchedulerConfig config{
      .name = SchedulerName::kWsd, .warmup_steps = 2, .decay_steps = 10, .cooldown_steps = 4};
  EXPECT_THAT(rates(config, 11), ElementsAre(0.5, 1, 1, 1, 1, 1, 1, 0.75, 0.5, 0.25, 0));
  config.cooldown_shape = CooldownShape::kOneMinusSqrt;
  EXPECT_DOUBLE_EQ(Schedule(config, 1.0, 0).learning_rate(7), 0.5);
  config.cooldown_shape = CooldownShape::kCosine;
  EXPECT_DOUBLE_EQ(Schedule(config, 1.0, 0).learning_rate(8), 0.5);
  const Schedule tenth({.name = SchedulerName::kWsd}, 1.0, 15);
  EXPECT_DOUBLE_EQ(tenth.learning_rate(13), 1);
  EXPECT_DOUBLE_EQ(tenth.learning_rate(14), 0.5) << "a tenth is rounded up";
}

TEST(Schedule, StepFallsAtEachMilestone) {
  EXPECT_THAT(
      rates({.name = SchedulerName::kStep, .warmup_steps = 2, .milestones = {3, 5}, .gamma = 0.5},
            7),
      ElementsAre(0.5, 1, 1, 0.5, 0.5, 0.25, 0.25));
  EXPECT_EQ(error_of([] {
              Schedule({.name = SchedulerName::kStep, .milestones = {5, 5}}, 1.0, 10);
            }),
            "2: the milestones of a schedule must be in ascending order");
}

TEST(Schedule, DecayStepsTakePrecedenceOverTheLengthOfTheRun) {
  const Schedule schedule(cosine(0, 10), 1e-3, 1000);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(10), 1e-4);
}

TEST(Schedule, NeverLeavesTheRangeFromZeroToThePeakAndNeverRisesAfterWarmUp) {
  EXPECT_TRUE(rc::check([] {
    SchedulerConfig config;
    config.name =
        *rc::gen::element(SchedulerName::kConstant, SchedulerName::kLinear, SchedulerName::kCosine,
                          SchedulerName::kPolynomial, SchedulerName::kInverseSqrt,
                          SchedulerName::kWsd, SchedulerName::kStep, SchedulerName::kPlateau);
    config.power = *rc::gen::inRange(1, 4);
    config.cooldown_shape = *rc::gen::element(CooldownShape::kLinear, CooldownShape::kCosine,
                                              CooldownShape::kOneMinusSqrt);
    config.milestones = {20, 60, 150};
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
