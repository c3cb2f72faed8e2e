// Decides which evaluation is the best so far, for early stopping and keep_best.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/state.h"
#include "trainer/settings/config.h"
#include "trainer/train/evaluate.h"

namespace lockstep {

/// Whether every evaluation gives the metric.
bool is_always_given(std::string_view metric);

/// The value of config.metric in an evaluation; NaN if its count was zero. Error kUsage that lists
/// the existing metrics if the evaluation has no such metric.
double watched_metric(const EarlyStoppingConfig& config, const Evaluation& evaluation);

/// Whether `value` improves on the best by more than config.min_delta; a first value always does,
/// NaN never does.
bool improves(const EarlyStoppingConfig& config, double value, double best);

/// Sets in `progress` the metric and mode of its best value from now on. If the best value is of
/// another metric or mode, resets it and the count of evaluations since then, and returns a line
/// about it for the log; otherwise returns "".
std::string begin_watching(const EarlyStoppingConfig& config, TrainerState& progress);

}  // namespace lockstep
