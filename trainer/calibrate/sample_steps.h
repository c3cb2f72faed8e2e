// Times training steps of sample_models() in jobs of this machine.
#pragma once

#include <vector>

#include "core/base/activity.h"
#include "core/base/settings.h"
#include "core/ir/machine_limits.h"
#include "trainer/calibrate/jobs.h"

namespace lockstep {

class Registry;

/// Sets `limits.steps` to what steps on 1 rank and on each of these numbers of ranks take, in fp32
/// and bf16-mixed, over the lower bounds of the other limits. `quick`: on 1 rank, in fp32, of a few
/// steps. They stay unmeasured if a job fails. How the last job ended.
JobEnd measure_steps(const std::vector<int>& ranks, bool quick, const Registry& registry,
                     MaxIsa max, Activity activity, MachineLimits& limits);

}  // namespace lockstep
