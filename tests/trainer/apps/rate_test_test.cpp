// The learning-rate range test: when it ends, and what it suggests.
#include "trainer/apps/rate_test.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

constexpr RateRange kRange{.low = 1e-6, .high = 1, .steps = 100};

/// A loss that falls by 2 around the rate 1e-3, and rises beyond 0.1.
double loss_at(double rate) {
  const double x = std::log10(rate);
  return 1 + 2 / (1 + std::exp(4 * (x + 3))) + (x > -1 ? 100 * (x + 1) * (x + 1) : 0);
}

RateTest tested(double (*loss)(double), std::int64_t steps = kRange.steps) {
  RateTest out(kRange.steps);
  for (std::int64_t step = 0; step < steps; ++step)
    if (!out.add(kRange.at(step), loss(kRange.at(step)))) break;
  return out;
}

TEST(RateRange, GrowsByTheSameFactor) {
  EXPECT_DOUBLE_EQ(kRange.at(0), 1e-6);
  EXPECT_NEAR(kRange.at(99), 1, 1e-12);
  // Of logarithms: each step adds the same, up to the rounding of pow.
  for (std::int64_t step = 1; step < 99; ++step)
    EXPECT_NEAR(std::log(kRange.at(step + 1) / kRange.at(step)), std::log(1e6) / 99, 1e-12);
}

TEST(RateTest, SuggestsTheSteepestDescent) {
  const RateTest test = tested(loss_at);
  EXPECT_TRUE(test.has_diverged());
  EXPECT_LT(test.points().size(), 100);
  // The curve is symmetric about 1e-3: half a step to each side is what the grid allows, and means
  // and differences of a symmetric curve move nothing.
  ASSERT_TRUE(test.steepest().has_value());
  EXPECT_NEAR(std::log10(test.steepest().value_or(1)), -3, 6.0 / 99);
  EXPECT_GT(test.lowest().value_or(0), test.steepest().value_or(1));
}

TEST(RateTest, SuggestsNothingWithoutDescent) {
  EXPECT_FALSE(tested([](double) { return 2.0; }).steepest().has_value());
  EXPECT_FALSE(tested([](double rate) { return 2 + rate; }).steepest().has_value());
  EXPECT_FALSE(tested(loss_at, 5).steepest().has_value()) << "too few points";
  EXPECT_FALSE(RateTest(100).lowest().has_value());
}

TEST(RateTest, EndsAtALossThatIsNotFinite) {
  RateTest test(100);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(test.add(1e-3 * (i + 1), 2 - 0.01 * i));
  EXPECT_FALSE(test.add(1, NAN));
  EXPECT_TRUE(test.has_diverged());
  EXPECT_EQ(test.smoothed().size(), 20);
  EXPECT_TRUE(test.steepest().has_value());
}

TEST(RateTest, ForgivesOneLargeLoss) {
  RateTest test(100);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(test.add(1e-3 * (i + 1), i == 10 ? 10.0 : 1.0));
  EXPECT_FALSE(test.has_diverged());
}

}  // namespace
}  // namespace lockstep
