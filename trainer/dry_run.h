// --dry-run: what a run would take, without running it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trainer/config/batch_plan.h"
#include "trainer/session.h"
#include "trainer/training_state.h"

namespace lockstep {

/// A compiled step whose tensors never had memory.
struct DryStep {
  std::shared_ptr<const CompiledStep> step;
  std::int64_t batch_bytes = 0;  ///< one logical shard's
};

/// Records and compiles the training step. `state` is made but not initialized.
DryStep compile_dry(const Config& config, Engine& engine, TrainingState& state,
                    const DataSource& data, std::int64_t micro_batch);

struct DryRun {
  std::string text;
  bool fits;  ///< device.memory_gb
};

/// compile_dry, and a description of parameters, batch arithmetic and device memory with the
/// largest tensors, with a verdict against device.memory_gb. `state` is made but not initialized.
DryRun describe_dry_run(const Config& config, Session& session, TrainingState& state,
                        const DataSource& data, const BatchPlan& batch);

}  // namespace lockstep
