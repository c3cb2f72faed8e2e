#include "trainer/evaluators/class_scores.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <set>

namespace lockstep {
namespace {

using Samples = std::vector<std::pair<std::int32_t, std::int32_t>>;  // label, prediction

Confusion counted_samples(const Samples& samples) {
  Confusion out;
  for (const auto& [label, prediction] : samples) out.add({label, prediction});
  return out;
}

TEST(ClassScores, AreThoseOfTheFormulas) {
  // Class 0: 2 of 3 predictions, 2 of 4 samples; class 1: 1 of 3, 1 of 1; class 2: none of one.
  const Confusion confusion = counted_samples({{0, 0}, {0, 0}, {0, 1}, {0, 1}, {1, 1}, {2, 0}});
  const AverageScores macro = macro_average(confusion);
  EXPECT_DOUBLE_EQ(macro.precision, (2.0 / 3 + 1.0 / 3 + 0) / 3);
  EXPECT_DOUBLE_EQ(macro.recall, (2.0 / 4 + 1.0 / 1 + 0) / 3);
  EXPECT_DOUBLE_EQ(macro.f1, (4.0 / 7 + 2.0 / 4 + 0) / 3);
  EXPECT_DOUBLE_EQ(micro_average(confusion).f1, 3.0 / 6);
  // (3 * 6 - (4 * 3 + 1 * 3 + 1 * 0)) / sqrt((36 - 18) (36 - 18))
  EXPECT_DOUBLE_EQ(matthews_correlation(confusion), 3.0 / 18);
}

TEST(ClassScores, OfTwoClassesHaveTheUsualMatthewsCorrelation) {
  constexpr double kTruePositive = 6, kTrueNegative = 3, kFalsePositive = 1, kFalseNegative = 2;
  Confusion confusion;
  confusion.add({1, 1}, 6);
  confusion.add({0, 0}, 3);
  confusion.add({0, 1}, 1);
  confusion.add({1, 0}, 2);
  EXPECT_NEAR(matthews_correlation(confusion),
              (kTruePositive * kTrueNegative - kFalsePositive * kFalseNegative) /
                  std::sqrt((kTruePositive + kFalsePositive) * (kTruePositive + kFalseNegative) *
                            (kTrueNegative + kFalsePositive) * (kTrueNegative + kFalseNegative)),
              1e-15);  // of values below 1: a few roundings
}

TEST(ClassScores, AreZeroWhereNothingCanBeSaid) {
  EXPECT_EQ(matthews_correlation(counted_samples({{0, 0}, {1, 0}})), 0) << "one prediction";
  EXPECT_EQ(matthews_correlation(counted_samples({{0, 0}, {0, 1}})), 0) << "one label";
  EXPECT_EQ(macro_average(counted_samples({{0, 1}})).f1, 0);
  EXPECT_TRUE(class_score(Confusion(), ClassScore::kF1Macro).empty());
  EXPECT_EQ(macro_average({}).f1, 0);
  EXPECT_EQ(micro_average({}).f1, 0);
}

// Against a walk over the samples for each class.
RC_GTEST_PROP(ClassScores, AreThoseOfTheSamples, ()) {
  const auto some_class = rc::gen::inRange<std::int32_t>(0, 5);
  const Samples samples =
      *rc::gen::nonEmpty(rc::gen::container<Samples>(rc::gen::pair(some_class, some_class)));
  std::set<std::int32_t> classes;
  for (const auto& [label, prediction] : samples) classes.insert({label, prediction});
  double precision = 0, recall = 0, f1 = 0;
  for (const std::int32_t k : classes) {
    double hits = 0, of_label = 0, predicted = 0;
    for (const auto& [label, prediction] : samples) {
      hits += label == k && prediction == k ? 1 : 0;
      of_label += label == k ? 1 : 0;
      predicted += prediction == k ? 1 : 0;
    }
    const double p = predicted > 0 ? hits / predicted : 0, r = of_label > 0 ? hits / of_label : 0;
    precision += p;
    recall += r;
    f1 += p + r > 0 ? 2 * p * r / (p + r) : 0;
  }
  const auto count = static_cast<double>(classes.size());
  const AverageScores macro = macro_average(counted_samples(samples));
  constexpr double kRounding = 1e-13;  // of sums of five values below 1
  RC_ASSERT(std::abs(macro.precision - precision / count) < kRounding);
  RC_ASSERT(std::abs(macro.recall - recall / count) < kRounding);
  RC_ASSERT(std::abs(macro.f1 - f1 / count) < kRounding);
  // Matthews: the correlation of the indicator vectors, summed over classes.
  double covariance = 0, of_labels = 0, of_predictions = 0;
  const auto n = static_cast<double>(samples.size());
  for (const std::int32_t k : classes) {
    double mean_label = 0, mean_prediction = 0;
    for (const auto& [label, prediction] : samples) {
      mean_label += (label == k ? 1 : 0) / n;
      mean_prediction += (prediction == k ? 1 : 0) / n;
    }
    for (const auto& [label, prediction] : samples) {
      const double x = (label == k ? 1 : 0) - mean_label;
      const double y = (prediction == k ? 1 : 0) - mean_prediction;
      covariance += x * y;
      of_labels += x * x;
      of_predictions += y * y;
    }
  }
  constexpr double kNothing = 1e-9;
  const double expected = of_labels < kNothing || of_predictions < kNothing
                              ? 0
                              : covariance / std::sqrt(of_labels * of_predictions);
  RC_ASSERT(std::abs(matthews_correlation(counted_samples(samples)) - expected) < 1e-9);
}

TEST(ClassScores, AreMetricsOfAnEvaluation) {
  const ClassScoreMetric<ClassScore::kF1Macro> f1;
  const Shape rows{3};
  const std::vector<std::string> partials = {
      f1.partial({{"label", HostTensor::of(rows, std::vector<std::int32_t>{0, 0, 1})},
                  {"prediction", HostTensor::of(rows, std::vector<std::int32_t>{0, 1, 1})},
                  {"mask", HostTensor::of(rows, std::vector<float>{1, 1, 0})}}),
      f1.partial({{"mask", HostTensor::of(rows, std::vector<float>{1, 1, 1})}})};
  const MetricValues values = f1.combine(partials, {});
  ASSERT_EQ(values.size(), 1U);
  EXPECT_DOUBLE_EQ(values.at("f1_macro"), (2.0 / 3 + 0) / 2) << "the third sample only fills up";
}

}  // namespace
}  // namespace lockstep
