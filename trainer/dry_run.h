// --dry-run: what a run would take, without running it.
#pragma once

#include <string>

#include "trainer/config/batch_plan.h"
#include "trainer/session.h"
#include "trainer/training_state.h"

namespace lockstep {

/// Records and compiles the training step on tensors without memory, and describes parameters,
/// batch arithmetic and device memory, with a verdict against device.memory_gb. `state` is made but
/// not initialized.
std::string describe_dry_run(const Config& config, Session& session, TrainingState& state,
                             const DataSource& data, const BatchPlan& batch);

}  // namespace lockstep
