#include "trainer/train/best_metric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

TEST(BestMetric, OfAnotherMetricIsForgotten) {
  TrainerState progress;
  EXPECT_EQ(begin_watching({.metric = "eval/loss"}, progress), "");
  progress.best_metric = 1.09;
  progress.early_stopping = {.best_step = 40, .bad_evaluations = 2};
  EXPECT_EQ(begin_watching({.metric = "eval/loss"}, progress), "") << "the same goes on";
  EXPECT_EQ(progress.best_metric, 1.09);
  EXPECT_EQ(progress.early_stopping.bad_evaluations, 2);
  EXPECT_EQ(begin_watching({.metric = "eval/accuracy"}, progress),
            "early_stopping uses eval/accuracy (max) from now on: the best value so far, 1.09 of "
            "step 40, is of eval/loss (min) and is discarded");
  EXPECT_TRUE(std::isnan(progress.best_metric));
  EXPECT_EQ(progress.early_stopping.best_step, -1);
  EXPECT_EQ(progress.early_stopping.bad_evaluations, 0);
  EXPECT_EQ(progress.best_metric_name, "eval/accuracy");
  EXPECT_EQ(progress.best_metric_mode, "max");
  EXPECT_TRUE(improves({.metric = "eval/accuracy"}, 0.5, progress.best_metric));
}

TEST(BestMetric, OfTheOtherModeIsForgotten) {
  TrainerState progress;
  begin_watching({.metric = "eval/loss"}, progress);
  progress.best_metric = 1.09;
  progress.early_stopping.best_step = 40;
  EXPECT_NE(begin_watching({.metric = "eval/loss", .mode = BetterMetric::kMax}, progress), "");
  EXPECT_EQ(progress.early_stopping.best_step, -1);
}

TEST(BestMetric, ThatCountedNothingIsNoNumberAndOneThatIsNotThereAnError) {
  const Evaluation evaluation{.metrics = {{"loss", 2}}, .names = {"loss", "mlm/accuracy"}};
  EXPECT_EQ(watched_metric({.metric = "eval/loss"}, evaluation), 2);
  EXPECT_TRUE(std::isnan(watched_metric({.metric = "eval/mlm/accuracy"}, evaluation)));
  EXPECT_EQ(usage_error([&] { watched_metric({.metric = "eval/acuracy"}, evaluation); }),
            "early_stopping.metric is 'eval/acuracy', but the evaluation has no such metric; it "
            "has eval/loss, eval/mlm/accuracy");
  EXPECT_NE(usage_error([&] { watched_metric({.metric = "loss"}, evaluation); }), "");
}

}  // namespace
}  // namespace lockstep
