#include "trainer/train/nonfinite_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace lockstep {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const StepSummary kGood{.loss = 1, .grad_norm = 2, .metrics = {}};
const StepSummary kBad{.loss = kInfinity, .grad_norm = kInfinity, .metrics = {}, .finite = false};
const StepSummary kBrokenState{.loss = 1, .grad_norm = 2, .metrics = {}, .state_finite = false};

void expect_silence(const NonFiniteVerdict& verdict) {
  EXPECT_EQ(verdict.warning, "");
  EXPECT_EQ(verdict.end, "");
}

TEST(NonFinitePolicy, SaysNothingOfFiniteSteps) {
  NonFinitePolicy policy({.on_nonfinite = OnNonfinite::kStop});
  EXPECT_TRUE(policy.stops());
  for (int i = 0; i < 200; ++i) expect_silence(policy.add(kGood));
}

TEST(NonFinitePolicy, StopEndsTheRunAtTheFirstAndAsksForTheValue) {
  NonFinitePolicy policy({.on_nonfinite = OnNonfinite::kStop});
  const NonFiniteVerdict verdict = policy.add(kBad);
  EXPECT_EQ(verdict.warning, "");
  EXPECT_EQ(verdict.end,
            "loss inf and gradient norm inf are not finite; the update was left out, and the run "
            "stops (training.on_nonfinite: stop); lower optimizer.learning_rate, set "
            "training.gradient_clip_norm, or choose skip");
  EXPECT_TRUE(verdict.names_value);
}

TEST(NonFinitePolicy, SkipWarnsOfEachAndEndsAtTheLimit) {
  NonFinitePolicy policy({.on_nonfinite = OnNonfinite::kSkip, .max_skipped_steps = 2});
  EXPECT_FALSE(policy.stops());
  const NonFiniteVerdict first = policy.add(kBad);
  EXPECT_EQ(first.warning,
            "loss inf and gradient norm inf are not finite; the update was left out "
            "(training.on_nonfinite: skip)");
  EXPECT_EQ(first.end, "");
  const NonFiniteVerdict second = policy.add(kBad);
  EXPECT_EQ(second.warning, first.warning);
  EXPECT_THAT(second.end, HasSubstr("2 steps in a row were skipped (training.max_skipped_steps: "
                                    "2), so the run no longer trains, and stops"));
  EXPECT_FALSE(second.names_value) << "the steps before it may have had others";
}

TEST(NonFinitePolicy, AStepBetweenResetsTheCount) {
  NonFinitePolicy policy({.on_nonfinite = OnNonfinite::kSkip, .max_skipped_steps = 2});
  EXPECT_EQ(policy.add(kBad).end, "");
  expect_silence(policy.add(kGood));
  EXPECT_EQ(policy.add(kBad).end, "");
}

TEST(NonFinitePolicy, OfAProgramSpeaksOfItsOptions) {
  NonFinitePolicy policy({.on_nonfinite = OnNonfinite::kStop}, SettingsOf::kProgram);
  EXPECT_THAT(policy.add(kBad).end,
              HasSubstr("(TrainerOptions::training.on_nonfinite: stop); lower the optimizer's "
                        "learning_rate, set TrainerOptions::training.gradient_clip_norm"));
}

TEST(NonFinitePolicy, AnUpdateThatBreaksAParameterEndsTheRunEitherWay) {
  for (const OnNonfinite choice : {OnNonfinite::kStop, OnNonfinite::kSkip}) {
    NonFinitePolicy policy({.on_nonfinite = choice, .max_skipped_steps = 0});
    const NonFiniteVerdict verdict = policy.add(kBrokenState);
    EXPECT_THAT(verdict.end,
                HasSubstr("the update made a parameter that is not finite (loss 1 and gradient "
                          "norm 2), and the run stops"));
    EXPECT_FALSE(verdict.names_value);
  }
}

}  // namespace
}  // namespace lockstep
