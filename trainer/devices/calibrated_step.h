// A step of this machine, by what `lockstep calibrate` measured of it.
#pragma once

#include "core/cost/step_time.h"
#include "core/runtime/step_cost.h"
#include "trainer/settings/config.h"

namespace lockstep {

/// How this machine runs it. Error kUsage for a deployment that lockstep cannot run, or whose
/// network is not known.
StepPlacement calibrated_placement(const Config& config, const Deployment& deployment, DType math,
                                   std::int64_t micro_batches);

}  // namespace lockstep
