#include "trainer/train/state_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace lockstep {
namespace {

using ::testing::HasSubstr;

/// Of `steps` steps whose losses are `loss_of(step)`, how many states were in doubt.
int doubts(int steps, const std::function<double(int)>& loss_of, double norm = 1) {
  LossHistory losses;
  int out = 0;
  for (int step = 0; step < steps; ++step) {
    const StepEvidence evidence{loss_of(step), norm};
    out += doubt_of(losses, evidence).empty() ? 0 : 1;
    add_step(losses, evidence);
  }
  return out;
}

/// A history of so many steps.
LossHistory history(int steps, const std::function<double(int)>& loss_of) {
  LossHistory losses;
  for (int step = 0; step < steps; ++step) add_step(losses, {loss_of(step), 1});
  return losses;
}

TEST(StateJudge, DoesNotDoubtARunThatGoesWell) {
  EXPECT_EQ(doubts(300, [](int step) { return 4 * std::exp(-step / 50.0); }), 0) << "falling";
  EXPECT_EQ(doubts(300, [](int step) { return 1 - step / 10.0; }), 0) << "below zero";
  EXPECT_EQ(doubts(300, [](int) { return 2.5; }), 0) << "constant";
  EXPECT_EQ(doubts(300, [](int) { return 0.0; }), 0) << "zero";
  EXPECT_EQ(doubts(300, [](int) { return -3.0; }), 0) << "constant below zero";
  EXPECT_EQ(doubts(300, [](int step) { return 3 + 0.1 * std::sin(step / 20.0); }), 0) << "waves";
}

/// The same of 30 rows of 100 losses with normal noise.
int doubts_of_noise(double spread) {
  int out = 0;
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> noise(2, spread);
    out += doubts(100, [&](int) { return noise(engine); });
  }
  return out;
}

// The header tells how many on average: 20 of 100. A row that begins with a lucky loss has many.
TEST(StateJudge, SeldomDoubtsNoise) {
  EXPECT_EQ(doubts_of_noise(0.02), 0);
  EXPECT_LT(doubts_of_noise(0.5), 2 * 20 * 30);
}

TEST(StateJudge, DoubtsWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(doubt_of({}, {nan, 1}), "");
  EXPECT_NE(doubt_of({}, {1, std::numeric_limits<double>::infinity()}), "");
  LossHistory losses;
  add_step(losses, {nan, nan});
  EXPECT_TRUE(losses.recent.empty());
}

TEST(StateJudge, DoubtsALossAboveAllThatTheRunHasShown) {
  const LossHistory losses = history(50, [](int step) { return 4.0 - step * 0.04; });
  EXPECT_EQ(doubt_of(losses, {2.04, 1}), "");
  EXPECT_EQ(doubt_of(losses, {2.3, 1}), "the loss is 2.3, and was 2.08");
  EXPECT_NE(doubt_of(losses, {8000, 1}), "");
}

TEST(StateJudge, NeverGetsUsedToWhatBlewUp) {
  LossHistory losses = history(50, [](int step) { return 4.0 - step * 0.04; });
  for (const double dead : {3.2, 1e6, 3.2}) {
    for (int step = 0; step < 1000; ++step) {
      ASSERT_NE(doubt_of(losses, {dead, 1}), "") << dead << " after " << step;
      add_step(losses, {dead, 1});
    }
  }
  add_step(losses, {2.0, 1});
  EXPECT_EQ(doubt_of(losses, {2.0, 1}), "") << "but it may recover";
}

// Each step is hardly worse than the one before it.
TEST(StateJudge, DoubtsASlowRise) {
  LossHistory losses = history(50, [](int step) { return 4.0 - step * 0.04; });
  double loss = 2.04;
  while (doubt_of(losses, {loss, 1}).empty()) {
    add_step(losses, {loss, 1});
    loss *= 1.005;
  }
  EXPECT_LT(loss, 2.04 * 1.1 * 1.01);
}

// Up and down in turn, a little more each time: the edge of stability.
TEST(StateJudge, DoubtsLossesThatSwingMoreAndMore) {
  LossHistory losses = history(100, [](int step) { return step % 2 == 0 ? 2.01 : 1.99; });
  double swing = 0.01;
  for (int step = 0; doubt_of(losses, {2 + swing, 1}).empty(); ++step) {
    ASSERT_LT(swing, 0.2);
    add_step(losses, {step % 2 == 0 ? 2 + swing : 2 - swing, 1});
    swing *= 1.02;
  }
}

TEST(StateJudge, IsNotMisledByOneLuckyBatch) {
  LossHistory losses = history(50, [](int) { return 2.0; });
  add_step(losses, {0.01, 1});
  add_step(losses, {2.0, 1});
  add_step(losses, {2.0, 1});
  EXPECT_EQ(doubt_of(losses, {2.0, 1}), "");
}

TEST(StateJudge, DoubtsGradientsFarAboveAllBefore) {
  LossHistory losses = history(50, [](int) { return 2.0; });
  EXPECT_EQ(doubt_of(losses, {2.0, 9}), "");
  EXPECT_EQ(doubt_of(losses, {2.0, 11}), "the gradient norm is 11, and was 1 at most");
  add_step(losses, {2.0, 11});
  EXPECT_EQ(doubt_of(losses, {2.0, 11}), "") << "the loss stayed in line";
  add_step(losses, {90.0, 1e9});
  EXPECT_NE(doubt_of(losses, {2.0, 1e8}), "") << "of steps out of line nothing is learnt";
}

TEST(StateJudge, KeepsTheNewestGoodStep) {
  TrainerState progress;
  progress.good_step = 0;
  StateJudge judge(progress);
  for (int step = 0; step < 20; ++step) judge.add_step({2.0, 1});
  EXPECT_EQ(judge.settle(20, StepEvidence{2.0, 1}), "");
  EXPECT_EQ(progress.good_step, 20);
  EXPECT_EQ(progress.confirmation, Confirmation::kConfirmed);
  EXPECT_EQ(judge.settle(21, std::nullopt), "");
  EXPECT_EQ(progress.good_step, 20);
  EXPECT_EQ(progress.confirmation, Confirmation::kOpen);
  EXPECT_EQ(judge.settle(22, StepEvidence{90, 1}), "");
  EXPECT_EQ(progress.confirmation, Confirmation::kDoubtful);
  EXPECT_EQ(judge.settle(23, StepEvidence{90, 1}), "");
  EXPECT_THAT(judge.settle(24, StepEvidence{90, 1}),
              HasSubstr("step 24: the loss is 90, and was 2: the state of step 20 is the newest"));
  EXPECT_EQ(judge.settle(25, StepEvidence{90, 1}), "") << "it was told";
  EXPECT_EQ(judge.settle(26, std::nullopt), "");
  EXPECT_EQ(progress.confirmation, Confirmation::kDoubtful) << "as those before";
  EXPECT_EQ(progress.good_step, 20);
}

TEST(StateJudge, GoesByTheEvaluationWhereThereIsOne) {
  TrainerState progress;
  StateJudge judge(progress);
  for (int step = 0; step < 20; ++step) judge.add_step({2.0, 1});
  judge.add_evaluation(20, 2.0, false);
  judge.settle(20, StepEvidence{90, 1});
  EXPECT_EQ(progress.good_step, 20) << "a batch may be an odd one";
  judge.add_evaluation(30, 2.19, false);
  judge.settle(30, std::nullopt);
  EXPECT_EQ(progress.good_step, 30) << "within 10 %, and no step follows";
  judge.add_evaluation(40, 2.21, false);
  judge.settle(40, StepEvidence{2.0, 1});
  EXPECT_EQ(progress.good_step, 30) << "what it learnt does not hold";
  judge.add_evaluation(50, 2.21, true);
  judge.settle(50, std::nullopt);
  EXPECT_EQ(progress.good_step, 50) << "the best by another metric";
}

}  // namespace
}  // namespace lockstep
