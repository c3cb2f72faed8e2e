// --dry-run: the resources that a run needs, without running it.
#pragma once

#include <string>

#include "core/ir/machine_limits.h"
#include "trainer/apps/run_planner.h"
#include "trainer/train/training_state.h"

namespace lockstep {

struct DryRun {
  std::string text;
  bool
      fits;  ///< the run fits device.memory_gb, and all ranks of this node fit the machine's memory
};

/// Plans the run, and describes parameters, batch arithmetic, the lower bound of the time of the
/// step's commands on a machine with these limits, and device memory with the largest tensors.
/// States whether that fits device.memory_gb and the memory that is available for all ranks, the
/// largest micro-batch that fits, and, on the master, what other settings would need. `state` is
/// made but not initialized.
DryRun describe_dry_run(const Config& config, const Registry& registry, RankRuntime& runtime,
                        TrainingState& state, const DataSource& data, const StepPlan& plan,
                        const MachineLimits& limits);

}  // namespace lockstep
