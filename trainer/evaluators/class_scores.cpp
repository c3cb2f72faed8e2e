#include "trainer/evaluators/class_scores.h"

#include <cmath>
#include <map>
#include <string>

namespace lockstep {
namespace {

/// Of one class, as integers: their sums do not depend on an order.
struct ClassTally {
  std::int64_t samples = 0;
  std::int64_t predictions = 0;
  std::int64_t correct = 0;
};

std::map<std::int32_t, ClassTally> tallies_of(const Confusion& confusion) {
  std::map<std::int32_t, ClassTally> out;
  for (const auto& [cell, count] : confusion.counts()) {
    out[cell[0]].samples += count;
    out[cell[1]].predictions += count;
    if (cell[0] == cell[1]) out[cell[0]].correct += count;
  }
  return out;
}

double ratio_or_zero(std::int64_t part, std::int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

AverageScores macro_average(const Confusion& confusion) {
  AverageScores out;
  const std::map<std::int32_t, ClassTally> tallies = tallies_of(confusion);
  if (tallies.empty()) return out;
  for (const auto& [label, tally] : tallies) {
    out.precision += ratio_or_zero(tally.correct, tally.predictions);
    out.recall += ratio_or_zero(tally.correct, tally.samples);
    out.f1 += ratio_or_zero(2 * tally.correct, tally.samples + tally.predictions);
  }
  const auto classes = static_cast<double>(tallies.size());
  return {out.precision / classes, out.recall / classes, out.f1 / classes};
}

AverageScores micro_average(const Confusion& confusion) {
  std::int64_t correct = 0, all = 0;
  for (const auto& [cell, count] : confusion.counts()) {
    all += count;
    if (cell[0] == cell[1]) correct += count;
  }
  const double accuracy = ratio_or_zero(correct, all);
  return {accuracy, accuracy, accuracy};
}

double matthews_correlation(const Confusion& confusion) {
  // In floating point: squares of counts may be beyond 64 bits.
  double correct = 0, all = 0, agreement = 0, samples = 0, predictions = 0;
  for (const auto& [label, tally] : tallies_of(confusion)) {
    const auto of_label = static_cast<double>(tally.samples);
    const auto predicted = static_cast<double>(tally.predictions);
    correct += static_cast<double>(tally.correct);
    all += of_label;
    agreement += of_label * predicted;
    samples += of_label * of_label;
    predictions += predicted * predicted;
  }
  const double spread = (all * all - samples) * (all * all - predictions);
  return spread <= 0 ? 0 : (correct * all - agreement) / std::sqrt(spread);
}

MetricValues class_score(const Confusion& confusion, ClassScore score) {
  if (confusion.empty()) return {};
  const auto value = [&] {
    switch (score) {
      case ClassScore::kPrecisionMacro: return macro_average(confusion).precision;
      case ClassScore::kPrecisionMicro: return micro_average(confusion).precision;
      case ClassScore::kRecallMacro: return macro_average(confusion).recall;
      case ClassScore::kRecallMicro: return micro_average(confusion).recall;
      case ClassScore::kF1Macro: return macro_average(confusion).f1;
      case ClassScore::kF1Micro: return micro_average(confusion).f1;
      case ClassScore::kMatthews: return matthews_correlation(confusion);
    }
    __builtin_unreachable();
  }();
  return {{std::string(kClassScores[static_cast<std::size_t>(score)].name), value}};
}

}  // namespace lockstep
