// --dry-run: the resources that a run needs, without running it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/ir/machine_limits.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/task/data_source.h"
#include "trainer/train/step_plan.h"
#include "trainer/train/training_step.h"

namespace lockstep {

/// The recorded training step of a config, and what it is a step of.
struct RecordedConfig {
  Graph step;
  std::int64_t parameters = 0;         ///< elements
  std::int64_t slots = 0;              ///< of the optimizer, per parameter
  std::int64_t samples = 0;            ///< of the training data
  std::int64_t tokens_per_sample = 0;  ///< 0 for images
};

/// Records the training step for one rank, in its own session. No tensor gets memory.
RecordedConfig record_config(const Config& config, const Registry& registry);

/// The compiled training step of a config.
struct CompiledConfig {
  std::shared_ptr<const CompiledStep> step;
  std::int64_t parameters = 0;  ///< elements
  std::int64_t slots = 0;       ///< of the optimizer, per parameter
};

/// Records and compiles the training step for one rank, in its own session, for instruction sets
/// within both device.max_isa and `max`. No tensor gets memory.
CompiledConfig compile_config(const Config& config, const Registry& registry,
                              MaxIsa max = MaxIsa::kAuto);

struct DryRun {
  std::string text;
  bool
      fits;  ///< the run fits device.memory_gb, and all ranks of this node fit the machine's memory
};

/// Compiles the training step, and describes parameters, batch arithmetic, the lower bound of the
/// time of the step's commands on a machine with these limits, and device memory with the largest
/// tensors. States whether that fits device.memory_gb and the memory that is available for all
/// ranks. `state` is made but not initialized.
DryRun describe_dry_run(const Config& config, RankRuntime& runtime, TrainingState& state,
                        const LossFunction& loss, const DataSource& data, const StepPlan& plan,
                        const MachineLimits& limits);

}  // namespace lockstep
