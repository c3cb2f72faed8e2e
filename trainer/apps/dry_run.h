// --dry-run: what a run would take, without running it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/ir/machine_limits.h"
#include "trainer/config/batch_plan.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/task/data_source.h"
#include "trainer/train/training_step.h"

namespace lockstep {

/// What a config's training step compiles to.
struct CompiledConfig {
  std::shared_ptr<const CompiledStep> step;
  std::int64_t parameters = 0;  ///< elements
  std::int64_t slots = 0;       ///< of the optimizer, per parameter
};

/// Records and compiles the training step for one rank, in a session of its own, for what is within
/// both device.max_isa and `max`. No tensor gets memory.
CompiledConfig compile_config(const Config& config, const Registry& registry,
                              MaxIsa max = MaxIsa::kAuto);

struct DryRun {
  std::string text;
  bool fits;  ///< device.memory_gb, and all ranks of this node the machine's memory
};

/// Compiles the training step, and describes parameters, batch arithmetic, the least time that the
/// step's commands can take on a machine with these limits, and device memory with the largest
/// tensors, with verdicts against device.memory_gb and the memory that the machine has available
/// for all ranks. `state` is made but not initialized.
DryRun describe_dry_run(const Config& config, RankRuntime& session, TrainingState& state,
                        const LossFunction& loss, const DataSource& data, const BatchPlan& batch,
                        const MachineLimits& limits);

}  // namespace lockstep
