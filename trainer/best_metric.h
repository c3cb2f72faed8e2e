// Which evaluation is the best so far: what early stopping and keep_best go by.
#pragma once

#include "trainer/config/config.h"
#include "trainer/metrics.h"

namespace lockstep {

/// The value of config.metric among `metrics`, which an evaluation has just given; NaN if nobody
/// asked for it and it is not there. Error kUsage that lists what there is if `needed`.
double watched_metric(const EarlyStoppingConfig& config, const MetricValues& metrics, bool needed);

/// Whether `value` improves on the best by more than config.min_delta; a first value always does,
/// and one that is not a number never.
bool improves(const EarlyStoppingConfig& config, double value, double best);

}  // namespace lockstep
