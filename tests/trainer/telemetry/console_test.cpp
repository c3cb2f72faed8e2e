#include "trainer/telemetry/console.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep {
namespace {

TEST(Console, TheLineHoldsProgressLossRateAndTimes) {
  TelemetryRecord record{.step = 1550};
  record.train["loss"] = 2.3141;
  record.learning_rate = 0.00054;
  record.grad_norm = 0.8099;
  record.updates_per_s = 7.6891;
  record.tokens_per_s = 125983;
  EXPECT_EQ(progress_line(record, 5000, 211.9),
            "progress: 1550/5000, train/loss: 2.314, lr: 0.00054, grad_norm: 0.81, ups: 7.69, "
            "tok/s: 126k, time_since_start: 3m 31s, eta: 7m 28s");
}

TEST(Console, AnEvaluationWithoutTrainingFiguresHasALineToo) {
  TelemetryRecord record{.step = 2000};
  record.evaluations["eval/loss"] = 1.8812;
  record.evaluations["eval/accuracy"] = 0.975;
  EXPECT_EQ(progress_line(record, -1, 5),
            "progress: 2000, eval/loss: 1.881, eval/accuracy: 0.975, time_since_start: 5s");
}

TEST(Console, NumbersKeepTheirSignificantDigits) {
  EXPECT_EQ(format_significant(2.31449, 4), "2.314");
  EXPECT_EQ(format_significant(0.00054, 3), "0.00054");
  EXPECT_EQ(format_significant(1e-5, 3), "1e-05");
  EXPECT_EQ(format_significant(0, 3), "0");
  EXPECT_EQ(format_significant(123456.4, 4), "123456");
  EXPECT_EQ(format_significant(1e20, 3), "1e+20");
  EXPECT_EQ(format_significant(-1.2345e9, 3), "-1.23e+09");
  EXPECT_EQ(format_significant(std::nan(""), 4), "nan");
  EXPECT_EQ(format_significant(-std::nan(""), 4), "nan");
  EXPECT_EQ(format_significant(-std::numeric_limits<double>::infinity(), 4), "-inf");
}

TEST(Console, RatesHaveThreeDigitsAndASuffix) {
  EXPECT_EQ(format_rate(950), "950");
  EXPECT_EQ(format_rate(999.6), "1k");
  EXPECT_EQ(format_rate(12594), "12.6k");
  EXPECT_EQ(format_rate(125983), "126k");
  EXPECT_EQ(format_rate(1.26e6), "1.26M");
  EXPECT_EQ(format_rate(3.4e9), "3.4G");
}

}  // namespace
}  // namespace lockstep
