// How measured steps correct a prediction: against the same update written out for one and two
// steps, and what follows from it.
#include "core/cost/given_steps.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

/// Two constants, of which the covariance is {{0.04, 0.01}, {0.01, 0.09}}.
FittedConstants two_constants() {
  FittedConstants out;
  out.covariance = {0.04, 0.01, 0.09};
  out.residual = {.whole = std::log(0.1),
                  .execution = {},
                  .alone = 0.1,
                  .other_math = 0.5,
                  .other_execution = 0.2,
                  .parameters_length = 1,
                  .devices_length = 2,
                  .work_length = 3};
  return out;
}

ForeseenTime foreseen(std::vector<double> slopes, double devices = 1) {
  return {2.0, std::move(slopes), {.parameters = 1e8, .flops = 1e13, .devices = devices}};
}

double by_constants(const ForeseenTime& a, const ForeseenTime& b) {
  return 0.04 * a.slopes[0] * b.slopes[0] + 0.09 * a.slopes[1] * b.slopes[1] +
         0.01 * (a.slopes[0] * b.slopes[1] + a.slopes[1] * b.slopes[0]);
}

double interval(double variance) {
  return std::exp(1.2816 * std::sqrt(variance));
}

TEST(GivenSteps, NoneLeaveThePrediction) {
  const ForeseenTime asked = foreseen({0.5, -1});
  const Correction correction = correct(asked, {}, two_constants());
  EXPECT_EQ(correction.factor, 1);
  EXPECT_NEAR(correction.interval, interval(by_constants(asked, asked) + 0.01), 1e-12);
}

TEST(GivenSteps, OneCorrectsByWhatItShares) {
  const FittedConstants fitted = two_constants();
  const ForeseenTime asked = foreseen({0.5, -1}, 8), one = foreseen({1, 0.5});
  const double shared = by_constants(asked, one) + 0.01 * 0.9 * std::exp(-std::log(8) / 2);
  const double own = by_constants(one, one) + 0.01;
  const Correction correction = correct(asked, std::vector{GivenStep{one, 3.0}}, fitted);
  EXPECT_NEAR(std::log(correction.factor), shared / own * std::log(3.0 / 2), 1e-12);
  EXPECT_NEAR(correction.interval,
              interval(by_constants(asked, asked) + 0.01 - shared * shared / own), 1e-12);
}

/// The second of two equal measurements adds only what a repetition does.
TEST(GivenSteps, SeveralAreWeighedTogether) {
  const FittedConstants fitted = two_constants();
  const ForeseenTime asked = foreseen({0.5, -1});
  const std::vector<GivenStep> once{{asked, 3.0}}, twice{{asked, 3.0}, {asked, 3.0}};
  const double variance = by_constants(asked, asked) + 0.01, shared = variance - 0.001;
  EXPECT_NEAR(std::log(correct(asked, once, fitted).factor), shared / variance * std::log(1.5),
              1e-12);
  EXPECT_NEAR(std::log(correct(asked, twice, fitted).factor),
              2 * shared / (variance + shared) * std::log(1.5), 1e-12);
}

TEST(GivenSteps, TellTheLessTheFurtherTheyAre) {
  const FittedConstants fitted = two_constants();
  const ForeseenTime asked = foreseen({0, 0});
  double last = 10;
  const auto expect_less = [&](const StepTraits& traits, const char* what) {
    ForeseenTime other = asked;
    other.traits = traits;
    const double factor = correct(asked, std::vector{GivenStep{other, 4.0}}, fitted).factor;
    EXPECT_LT(factor, last) << what;
    EXPECT_GT(factor, 1) << what;
    last = factor;
  };
  StepTraits traits = asked.traits;
  expect_less(traits, "the same");
  traits.devices = 2;
  expect_less(traits, "another number of devices");
  traits.flops *= 4;
  expect_less(traits, "another batch");
  traits.parameters /= 2;
  expect_less(traits, "another model");
  traits.math = MathType::kBf16;
  expect_less(traits, "another type");
  traits.execution = Execution::kEager;
  expect_less(traits, "another kind of execution");
}

TEST(ResidualSpread, IsWiderWhereLessIsKnown) {
  const ResidualSpread spread{.whole = std::log(0.1),
                              .execution = {0.5, 0, 0, 0, 0},
                              .work = -0.25,
                              .stand_in = 1,
                              .ordinary_units = -0.5,
                              .other_kind = 2};
  StepTraits traits{.parameters = 1, .flops = 1e13};
  EXPECT_DOUBLE_EQ(spread.deviation(traits), 0.1);
  traits.execution = Execution::kEager;
  EXPECT_DOUBLE_EQ(spread.deviation(traits), 0.1 * std::exp(0.5));
  traits.flops = 1e11;
  EXPECT_DOUBLE_EQ(spread.deviation(traits), 0.1 * std::exp(1.0));
  traits.stand_in = traits.ordinary_units = true;
  EXPECT_DOUBLE_EQ(spread.deviation(traits), 0.1 * std::exp(1.5));
  traits.other_kind = true;
  EXPECT_DOUBLE_EQ(spread.deviation(traits), 0.1 * std::exp(3.5));
}

/// The covariance of the fitted constants holds for every step: what is left is less than before.
TEST(GivenSteps, NarrowTheIntervalOfTheFittedConstants) {
  DeviceProfile device;
  const auto sheet = [](double value) { return Figure{value, "a data sheet"}; };
  device.peak_tflops[static_cast<std::size_t>(MathType::kFp32)] = sheet(10);
  device.matmul_fraction = sheet(0.85);
  device.memory_gib = sheet(40);
  device.memory_gb_per_s = sheet(1000);
  device.memory_fraction = sheet(0.88);
  device.compute_units = sheet(100);
  device.launch_us_eager = device.launch_us_graph = device.launch_us_xla = sheet(5);
  const StepWork work{.heavy = {{.kind = KernelKind::kDot,
                                 .batch = 1,
                                 .m = 4096,
                                 .n = 4096,
                                 .k = 4096,
                                 .flops = 1.4e11,
                                 .bytes = 2e8}},
                      .fused = {.bytes = 1e9, .kernels = 10},
                      .calls = {.bytes = 4e9, .kernels = 40},
                      .parameters = 1e8,
                      .slots = 2};
  const FittedConstants& fitted = fitted_constants();
  const ForeseenTime time = foreseen_time(work, device, {}, fitted);
  EXPECT_EQ(time.traits.flops, 1.4e11);
  EXPECT_TRUE(time.traits.ordinary_units);
  const Correction plain = correct(time, {}, fitted);
  const Correction corrected =
      correct(time, std::vector{GivenStep{time, 1.2 * time.seconds}}, fitted);
  EXPECT_LT(corrected.interval, plain.interval);
  EXPECT_NEAR(corrected.factor, 1.2, 0.02);
}

}  // namespace
}  // namespace lockstep
