// Which evaluation is the best so far: what early stopping and keep_best go by.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/state.h"
#include "trainer/settings/config.h"
#include "trainer/train/evaluate.h"

namespace lockstep {

/// Whether every evaluation gives the metric.
bool is_always_given(std::string_view metric);

/// The value of config.metric that an evaluation has given; NaN if it counted nothing this time.
/// Error kUsage that lists what there is if the evaluation has no such metric.
double watched_metric(const EarlyStoppingConfig& config, const Evaluation& evaluation);

/// Whether `value` improves on the best by more than config.min_delta; a first value always does,
/// and one that is not a number never.
bool improves(const EarlyStoppingConfig& config, double value, double best);

/// Names in `progress` the metric and mode that its best is of from now on. A best of another one
/// is forgotten, with the count of evaluations since: returns a line on it for the log, else
/// nothing.
std::string begin_watching(const EarlyStoppingConfig& config, TrainerState& progress);

}  // namespace lockstep
