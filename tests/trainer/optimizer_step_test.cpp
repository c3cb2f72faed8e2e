// What keeps a state that has blown up from going on.
#include "trainer/optimizers/optimizer_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/engine/rank.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

OptimizerConfig plain_sgd() {
  OptimizerConfig out;
  out.weight_decay = 0;
  return out;
}

/// One parameter whose gradient is the batch, of one shard.
struct Training : Rank {
  Training() {
    parameters.declare("p", Shape{2}, ParameterKind::kVector, Initializer::constant(0)).value =
        variable({1, 2});
    sound = engine.to_device({HostTensor::scalar<bool>(true)}, InputKind::kState, "sound");
  }

  StepSummary step(std::vector<float> gradient, double learning_rate, bool stop = false) {
    const Tensor g = batch({std::move(gradient)});
    ModelOutput output;
    output.loss_sum = sum(g) * 0.0 + 1.0;
    output.count = context.scalar(1, DType::kI64, "count");
    output.correct_sum = context.scalar(0, DType::kF32, "correct");
    const Sgd sgd(plain_sgd());
    const std::vector<Tensor> gradients = {g};
    const StepResult result =
        optimizer_step(sgd, parameters, slots, sound, output, gradients,
                       {.learning_rate = learning_rate, .stop_at_nonfinite = stop});
    engine.mark_step();
    return result.read();
  }
  std::vector<float> values() { return values_of(parameters.all()[0].value); }

  ParameterSet parameters;
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

}  // namespace
}  // namespace lockstep
