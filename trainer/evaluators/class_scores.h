// Metrics of classifiers that a confusion matrix gives: precision, recall and F1, averaged over
// classes, and Matthews correlation. Definitions are those of scikit-learn with one label a sample:
// its precision_recall_fscore_support(zero_division=0) and matthews_corrcoef.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trainer/evaluators/confusion.h"
#include "trainer/task/metrics.h"

namespace lockstep {

struct AverageScores {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

/// The mean over all classes that are a label or a prediction; a class without predictions has a
/// precision of 0, and one without samples a recall of 0. Zeros of an empty matrix.
AverageScores macro_average(const Confusion& confusion);
/// Over all samples together: each is the accuracy. Zeros of an empty matrix.
AverageScores micro_average(const Confusion& confusion);
/// Between -1 and 1; 0 if all labels, or all predictions, are one class. Of more than two classes
/// it is R_K (Gorodkin 2004, "Comparing two K-category assignments by a K-category correlation
/// coefficient").
double matthews_correlation(const Confusion& confusion);

enum class ClassScore : std::uint8_t {
  kPrecisionMacro,
  kPrecisionMicro,
  kRecallMacro,
  kRecallMicro,
  kF1Macro,
  kF1Micro,
  kMatthews,
};

struct ClassScoreText {
  std::string_view name;
  std::string_view doc;
};
inline constexpr std::array<ClassScoreText, 7> kClassScores{
    {{"precision_macro", "of classes' predictions the share that is right, mean over classes"},
     {"precision_micro", "the same over all samples: the accuracy"},
     {"recall_macro", "of classes' samples the share that is found, mean over classes"},
     {"recall_micro", "the same over all samples: the accuracy"},
     {"f1_macro", "harmonic mean of precision and recall, mean over classes"},
     {"f1_micro", "the same over all samples: the accuracy"},
     {"matthews", "Matthews correlation of labels and predictions"}}};

/// Of an empty matrix there is none.
MetricValues class_score(const Confusion& confusion, ClassScore score);

/// A metric of eval.metrics. It needs the outputs of a classification_loss(); of other models it
/// has no value.
template <ClassScore score>
struct ClassScoreMetric final : Evaluator {
  static constexpr std::string_view kName = kClassScores[static_cast<std::size_t>(score)].name;
  static constexpr std::string_view kDoc = kClassScores[static_cast<std::size_t>(score)].doc;
  std::string partial(const HostBatch& outputs) const override {
    return confusion_partial(outputs);
  }
  MetricValues combine(std::span<const std::string> partials,
                       const MetricValues& /*values*/) const override {
    Confusion all;
    add_partials(partials, all);
    return class_score(all, score);
  }
};

}  // namespace lockstep
