// A confusion matrix: counts of an evaluation, by label and prediction.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trainer/task/metrics.h"

namespace lockstep {

/// Counted as integers: the same on any number of ranks.
class Confusion {
 public:
  /// {label, prediction}
  using Cell = std::array<std::int32_t, 2>;

  void add(const Cell& cell, std::int64_t count = 1) { counts_[cell] += count; }
  bool empty() const { return counts_.empty(); }
  const std::map<Cell, std::int64_t>& counts() const { return counts_; }

  /// A table for people: each class with its samples, its accuracy and its most frequent wrong
  /// prediction; of many classes only the worst, and the most frequent confusions of all. `names`:
  /// of labels from 0 on; labels without a name are numbers.
  std::string table(const std::vector<std::string>& names) const;
  /// All counts that are not 0: "label,prediction,count", in the format of RFC 4180.
  std::string csv(const std::vector<std::string>& names) const;

 private:
  std::map<Cell, std::int64_t> counts_;
};

/// The cells of a batch's samples as bytes, an Evaluator's partial result; "" if the loss does not
/// have the outputs "label" and "prediction" (i32 [samples]).
std::string confusion_partial(const HostBatch& outputs);
/// Counts them.
void add_partials(std::span<const std::string> partials, Confusion& to);

/// Fills in a Confusion if the loss has the outputs "label" and "prediction" (i32 [samples]). Has
/// no metrics.
class ConfusionCounter final : public Evaluator {
 public:
  /// `to` outlives it.
  explicit ConfusionCounter(Confusion& to) : to_(to) {}
  std::string partial(const HostBatch& outputs) const override;
  MetricValues combine(std::span<const std::string> partials,
                       const MetricValues& values) const override;

 private:
  Confusion& to_;
};

}  // namespace lockstep
