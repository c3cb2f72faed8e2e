// A few runs beside each other: one metric's curves, the config keys that differ, and how far each
// came.
#pragma once

#include <string>
#include <vector>

#include "trainer/runs/curve.h"
#include "trainer/runs/draw_curves.h"
#include "trainer/runs/run_summary.h"

namespace lockstep {

class Registry;

struct ComparedRuns {
  WatchedMetric metric = {};
  std::vector<RunSummary> runs = {};    ///< names are unique: of those with equal ones the folders
  std::vector<Curve> curves = {};       ///< of each
  std::vector<std::string> notes = {};  ///< what could not be read
};

/// `metric`: "" for eval/loss if all runs have it, else train/loss. Error kUsage if a folder is not
/// that of a run, or no run has the metric, with a list of those there are.
ComparedRuns compare_runs(const std::vector<std::string>& folders, const std::string& metric,
                          const Registry& registry);

std::string compared_text(const ComparedRuns& compared, const DrawingOptions& options);
std::string compared_json(const ComparedRuns& compared);

}  // namespace lockstep
