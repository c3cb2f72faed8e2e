// A table over many runs: which of them, in which order, and how they are shown.
//
// A *field* of a run is one of name, model, state, step, wall, ended, a metric that is shown (its
// best value, "eval/loss", or "eval/loss:last"), or the path of a config key.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainer/runs/run_summary.h"

namespace lockstep {

class RunTable {
 public:
  /// `metrics`: those that the runs were summarized with.
  RunTable(std::vector<RunSummary> runs, std::vector<WatchedMetric> metrics);

  const std::vector<RunSummary>& runs() const { return runs_; }

  /// Keeps the runs whose field has one of the values: "optimizer.learning_rate=0.001,0.01",
  /// "name=gpt*". Numbers are compared as numbers, texts by a pattern of the shell. Error kUsage
  /// for a word that is not of this form, or a field that no run has, with a suggestion.
  void filter(const std::string& word);
  /// By a field: numbers ascending, a metric's best first, other texts by their bytes. Runs without
  /// the field are last. Error kUsage as above.
  void sort(const std::string& field);
  void reverse();

  /// For a terminal. The last column has the config keys in which a run differs from most of those
  /// shown; notes on failed and damaged runs stand below.
  std::string text() const;
  /// A column for every differing key.
  std::string csv() const;
  std::string json() const;

 private:
  void require_field(const std::string& field) const;
  std::string value_of(const RunSummary& run, const std::string& field) const;
  /// The metric of this field name, or -1.
  int metric_of(const std::string& field) const;

  std::vector<RunSummary> runs_;
  std::vector<WatchedMetric> metrics_;
};

/// Keys that differ, with the values of all runs.
std::vector<DifferingKey> differing_keys(const std::vector<RunSummary>& runs);

/// "2.314", "nan", "" for one that was never measured.
std::string metric_text(const std::optional<double>& value);

}  // namespace lockstep
