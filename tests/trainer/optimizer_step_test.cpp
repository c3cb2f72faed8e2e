// What keeps a state that has blown up from going on.
#include "trainer/optimizers/optimizer_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/engine/rank.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

/// One parameter whose gradient is the batch, of one shard.
struct Training : Rank {
  Training() {
    parameters.declare("p", Shape{2}, ParameterKind::kVector, Initializer::constant(0)).value =
        variable({1, 2});
    sound = engine.to_device({HostTensor::scalar<bool>(true)}, InputKind::kState, "sound");
  }

  StepSummary step(std::vector<float> gradient, double learning_rate, bool stop = false,
                   const Optimizer& optimizer = Sgd{.weight_decay = 0}) {
    const Tensor g = batch({std::move(gradient)});
    const Loss loss{
        .sum = sum(g) * 0.0 + 1.0, .count = context.scalar(1, DType::kI64, "count"), .metrics = {}};
    const std::vector<Tensor> gradients = {g};
    const std::vector<Parameter*> trained = parameters.trained();
    const StepNumbers result =
        optimizer_step({optimizer, {}, trained, buffers, slots, sound}, loss, gradients,
                       {.learning_rate = learning_rate, .stop_at_nonfinite = stop});
    engine.mark_step();
    return result.read();
  }
  std::vector<float> values() { return values_of(parameters.all()[0].value); }

  ParameterSet parameters;
  ModuleBufferSet buffers;
  OptimizerState slots;
  Tensor sound;
};

TEST(OptimizerStep, LeavesOutAStepThatIsNotFinite) {
  Training training;
  const StepSummary skipped = training.step({1, NAN}, 0.5);
  EXPECT_FALSE(skipped.finite);
  EXPECT_TRUE(skipped.sound);
  EXPECT_THAT(training.values(), ElementsAre(1, 2));
  EXPECT_TRUE(training.step({1, 1}, 0.5).finite);
  EXPECT_THAT(training.values(), ElementsAre(0.5F, 1.5F));
}

TEST(OptimizerStep, BlocksLaterUpdatesAfterAStepThatIsNotFiniteIfAskedTo) {
  Training training;
  EXPECT_FALSE(training.step({1, NAN}, 0.5, true).sound);
  const StepSummary later = training.step({1, 1}, 0.5, true);
  EXPECT_TRUE(later.finite);
  EXPECT_FALSE(later.sound);
  EXPECT_THAT(training.values(), ElementsAre(1, 2));
}

TEST(OptimizerStep, BlocksLaterUpdatesAfterAParameterThatIsNotFinite) {
  Training training;
  const StepSummary overflow = training.step({1e5F, 1}, 3e38);
  EXPECT_TRUE(overflow.finite);
  EXPECT_FALSE(overflow.sound);
  const std::vector<float> then = training.values();
  EXPECT_FALSE(std::isfinite(then[0]));
  EXPECT_FALSE(training.step({1, 1}, 0.5).sound);
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

TEST(OptimizerStep, TakesAnyRuleAsAValue) {
  Optimizer optimizer = AdamW{.learning_rate = 0.5};
  const Optimizer copy = optimizer;
  optimizer = SignDescent{};
  EXPECT_EQ(copy.learning_rate(), 0.5);
  EXPECT_THAT(copy.slots(), ElementsAre("exp_avg", "exp_avg_sq"));
  Training training;
  training.step({8, -3}, optimizer.learning_rate(), false, optimizer);
  EXPECT_THAT(training.values(), ElementsAre(0.75F, 2.25F));
}

}  // namespace
}  // namespace lockstep
