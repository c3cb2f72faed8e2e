#include "trainer/train/early_stopping.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/fixtures/error_of.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

Evaluation with_loss(double loss) {
  return {.metrics = {{"loss", loss}}, .names = {"loss"}};
}

constexpr BetterMetric kMin = BetterMetric::kMin;

std::string begin(const EarlyStoppingConfig& config, TrainerState& progress) {
  return EarlyStopping(with_mode(config, built_in()), progress).begin();
}

TEST(EarlyStopping, TakesFromTheRowOfAMetricWhetherLessIsBetter) {
  const auto mode = [](const std::string& metric) {
    return with_mode({.metric = metric}, built_in()).mode;
  };
  EXPECT_EQ(mode("eval/loss"), kMin);
  EXPECT_EQ(mode("eval/mlm_loss"), kMin);
  EXPECT_EQ(mode("eval/perplexity"), kMin);
  EXPECT_EQ(mode("eval/accuracy"), BetterMetric::kMax);
  EXPECT_EQ(with_mode({.metric = "eval/accuracy", .mode = kMin}, built_in()).mode, kMin);
}

TEST(EarlyStopping, ForgetsTheBestValueOfAnotherMetric) {
  TrainerState progress;
  EXPECT_EQ(begin({.metric = "eval/loss"}, progress), "");
  progress.best_metric = 1.09;
  progress.early_stopping = {.best_step = 40, .bad_evaluations = 2};
  EXPECT_EQ(begin({.metric = "eval/loss"}, progress), "") << "the same goes on";
  EXPECT_EQ(progress.best_metric, 1.09);
  EXPECT_EQ(progress.early_stopping.bad_evaluations, 2);
  EXPECT_EQ(begin({.metric = "eval/accuracy"}, progress),
            "early_stopping uses eval/accuracy (max) from now on: the best value so far, 1.09 of "
            "step 40, is of eval/loss (min) and is discarded");
  EXPECT_TRUE(std::isnan(progress.best_metric));
  EXPECT_EQ(progress.early_stopping.best_step, -1);
  EXPECT_EQ(progress.early_stopping.bad_evaluations, 0);
  EXPECT_EQ(progress.best_metric_name, "eval/accuracy");
  EXPECT_EQ(progress.best_metric_mode, "max");
}

TEST(EarlyStopping, ForgetsTheBestValueOfTheOtherMode) {
  TrainerState progress;
  begin({.metric = "eval/loss"}, progress);
  progress.best_metric = 1.09;
  progress.early_stopping.best_step = 40;
  EXPECT_NE(begin({.metric = "eval/loss", .mode = BetterMetric::kMax}, progress), "");
  EXPECT_EQ(progress.early_stopping.best_step, -1);
}

TEST(EarlyStopping, TakesNaNForAMetricThatCountedNothingAndRefusesOneThatIsNotThere) {
  TrainerState progress;
  const Evaluation evaluation{.metrics = {{"loss", 2}}, .names = {"loss", "mlm/accuracy"}};
  const auto value_of = [&](const std::string& metric) {
    return EarlyStopping({.metric = metric, .mode = kMin}, progress).value_in(evaluation);
  };
  EXPECT_EQ(value_of("eval/loss"), 2);
  EXPECT_TRUE(std::isnan(value_of("eval/mlm/accuracy")));
  EXPECT_EQ(usage_error([&] { value_of("eval/acuracy"); }),
            "early_stopping.metric is 'eval/acuracy', but the evaluation has no such metric; it "
            "has eval/loss, eval/mlm/accuracy");
  EXPECT_NE(usage_error([&] { value_of("loss"); }), "");
}

TEST(EarlyStopping, CountsEvaluationsWithoutImprovementAndEndsOnce) {
  TrainerState progress;
  EarlyStopping stopping({.patience = 2, .mode = kMin}, progress);
  EXPECT_EQ(stopping.add(10, with_loss(3)), EarlyStopping::Verdict::kBest) << "the first one";
  EXPECT_EQ(stopping.add(20, with_loss(3)), EarlyStopping::Verdict::kWorse) << "no better";
  EXPECT_EQ(stopping.add(30, with_loss(2)), EarlyStopping::Verdict::kBest);
  EXPECT_EQ(progress.best_metric, 2);
  EXPECT_EQ(progress.early_stopping.best_step, 30);
  EXPECT_EQ(stopping.add(40, with_loss(2.5)), EarlyStopping::Verdict::kWorse);
  EXPECT_FALSE(stopping.ends());
  EXPECT_EQ(stopping.add(50, with_loss(std::nan(""))), EarlyStopping::Verdict::kEnds);
  EXPECT_TRUE(stopping.ends());
  EXPECT_EQ(stopping.bad_evaluations(), 2);
  EXPECT_EQ(stopping.add(60, with_loss(2.5)), EarlyStopping::Verdict::kWorse) << "told before";
}

TEST(EarlyStopping, GoesOnWithTheCountOfAResumedRun) {
  TrainerState progress;
  progress.best_metric = 1;
  progress.early_stopping = {.best_step = 40, .bad_evaluations = 2};
  EXPECT_EQ(EarlyStopping({.patience = 3, .mode = kMin}, progress).add(50, with_loss(2)),
            EarlyStopping::Verdict::kEnds);
}

TEST(EarlyStopping, WithoutPatienceNeverEnds) {
  TrainerState progress;
  EarlyStopping stopping({.patience = 0, .mode = kMin}, progress);
  stopping.add(0, with_loss(1));
  for (int i = 1; i < 100; ++i)
    EXPECT_EQ(stopping.add(i, with_loss(2)), EarlyStopping::Verdict::kWorse);
  EXPECT_FALSE(stopping.ends());
}

TEST(EarlyStopping, AsksForAnImprovementOfMoreThanMinDelta) {
  TrainerState progress;
  EarlyStopping least({.mode = kMin, .min_delta = 0.5}, progress);
  EXPECT_EQ(least.add(1, with_loss(2)), EarlyStopping::Verdict::kBest);
  EXPECT_EQ(least.add(2, with_loss(1.5)), EarlyStopping::Verdict::kWorse);
  EXPECT_EQ(least.add(3, with_loss(1.25)), EarlyStopping::Verdict::kBest);
  TrainerState other;
  EarlyStopping most({.mode = BetterMetric::kMax, .min_delta = 0.5}, other);
  EXPECT_EQ(most.add(1, with_loss(2)), EarlyStopping::Verdict::kBest);
  EXPECT_EQ(most.add(2, with_loss(2.5)), EarlyStopping::Verdict::kWorse);
  EXPECT_EQ(most.add(3, with_loss(2.75)), EarlyStopping::Verdict::kBest);
}

}  // namespace
}  // namespace lockstep
