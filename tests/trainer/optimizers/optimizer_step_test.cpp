// The checks that stop a state that has diverged.
#include "trainer/optimizers/optimizer_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/trace/context.h"
#include "tests/trainer/optimizers/update_training.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

const Sgd kPlain{.weight_decay = 0};

/// One parameter, from which the rule goes on.
struct Training : UpdateTraining {
  explicit Training(const Optimizer& rule = kPlain) : UpdateTraining(rule, {{Shape{2}, {1, 2}}}) {}

  StepSummary step(std::vector<float> gradient, double learning_rate, bool stop = false) {
    return UpdateTraining::step({std::move(gradient)},
                                {.learning_rate = learning_rate, .stop_at_nonfinite = stop});
  }
};

TEST(OptimizerStep, LeavesOutAStepThatIsNotFinite) {
  Training training;
  const StepSummary skipped = training.step({1, NAN}, 0.5);
  EXPECT_FALSE(skipped.finite);
  EXPECT_TRUE(skipped.state_finite);
  EXPECT_THAT(training.values(), ElementsAre(1, 2));
  EXPECT_TRUE(training.step({1, 1}, 0.5).finite);
  EXPECT_THAT(training.values(), ElementsAre(0.5F, 1.5F));
}

TEST(OptimizerStep, BlocksLaterUpdatesAfterAStepThatIsNotFiniteIfAskedTo) {
  Training training;
  EXPECT_FALSE(training.step({1, NAN}, 0.5, true).state_finite);
  const StepSummary later = training.step({1, 1}, 0.5, true);
  EXPECT_TRUE(later.finite);
  EXPECT_FALSE(later.state_finite);
  EXPECT_THAT(training.values(), ElementsAre(1, 2));
}

TEST(OptimizerStep, BlocksLaterUpdatesAfterAParameterThatIsNotFinite) {
  Training training;
  const StepSummary overflow = training.step({1e5F, 1}, 3e38);
  EXPECT_TRUE(overflow.finite);
  EXPECT_FALSE(overflow.state_finite);
  const std::vector<float> then = training.values();
  EXPECT_FALSE(std::isfinite(then[0]));
  EXPECT_FALSE(training.step({1, 1}, 0.5).state_finite);
  EXPECT_EQ(training.values(), then);
}

/// A rule of a user's own: steps of one size, against the gradient's sign.
struct SignDescent {
  double learning_rate = 0.25;

  std::vector<std::string> slots() const { return {}; }
  std::vector<Tensor> scalars(TraceContext& context, std::int64_t, double rate) const {
    return {context.scalar(rate, DType::kF32, "rate")};
  }
  std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                             std::span<const Tensor>, std::span<const Tensor> scalars) const {
    return {parameter.value - scalars[0] * (gradient / abs(gradient))};
  }
};

TEST(OptimizerStep, TellsEveryFlagOfARankByItself) {
  UpdateTraining training(kPlain, {{Shape{1}, {1}}});
  for (int flags = 0; flags < 8; ++flags) {
    const bool warned = (flags & 1) != 0;
    const bool stop = (flags & 2) != 0;
    const bool failed = (flags & 4) != 0;
    const StepSummary summary =
        training.step({{1}}, {.stop_requested = stop, .save_failed = failed, .warned = warned});
    EXPECT_EQ(summary.save_failed, failed) << flags;
    EXPECT_EQ(summary.stop, stop) << flags;
    EXPECT_EQ(summary.warned, warned) << flags;
  }
  EXPECT_EQ(training.metrics.counter("UncachedCompile"), 1) << "flags are no part of the program";
}

/// The parameter goes from 1 to 1/2 and to 0; the average keeps 3/4 of itself.
TEST(OptimizerStep, MovesAveragesTowardsTheNewValues) {
  UpdateTraining training(kPlain, {{Shape{1}, {1}}});
  training.averages.push_back(training.put(HostTensor::of(Shape{1}, std::vector<float>{1}), "a"));
  training.average_decay = 0.75;
  const auto step = [&](float gradient) {
    training.step({{gradient}}, {.learning_rate = 0.5});
    return values_of(training.averages[0])[0];
  };
  EXPECT_EQ(step(1), 0.875F);
  EXPECT_EQ(step(NAN), 0.875F) << "a skipped step moves nothing";
  EXPECT_EQ(step(1), 0.65625F);
  EXPECT_EQ(training.values()[0], 0);
}

TEST(OptimizerStep, TakesAnyRuleAsAValue) {
  Optimizer optimizer = AdamW{.learning_rate = 0.5};
  const Optimizer copy = optimizer;
  optimizer = SignDescent{};
  EXPECT_EQ(copy.learning_rate(), 0.5);
  EXPECT_THAT(copy.slots(), ElementsAre("exp_avg", "exp_avg_sq"));
  Training training(optimizer);
  training.step({8, -3}, optimizer.learning_rate());
  EXPECT_THAT(training.values(), ElementsAre(0.75F, 2.25F));
}

}  // namespace
}  // namespace lockstep
