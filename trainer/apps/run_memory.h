// What a run has in use of its device at its peak: known before it begins, to the byte.
#pragma once

#include <cstdint>
#include <memory>

#include "core/engine/step_memory.h"
#include "trainer/config/batch_plan.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/task/batch_types.h"
#include "trainer/task/data_source.h"
#include "trainer/train/training_step.h"

namespace lockstep {

/// Of a rank, whoever is faster, loader, device or host.
struct RunMemory {
  std::int64_t state = 0;
  std::int64_t batches = 0;       ///< that are set aside, and the shards' numbers
  std::int64_t step_results = 0;  ///< of training steps in flight
  std::int64_t results = 0;       ///< the same, or those of evaluation batches if they are more
  StepMemory step;                ///< of one step; its results are among those
  std::int64_t evaluation = 0;    ///< what an evaluation takes more than a step

  std::int64_t total() const {
    return state + batches + results + step.total() - step.results + evaluation;
  }
  /// Without evaluations.
  std::int64_t training() const {
    return state + batches + step_results + step.total() - step.results;
  }
};

/// Compiles the training step on batches of these types, and runs nothing: `state` needs no values,
/// and has none afterwards.
std::shared_ptr<const CompiledStep> compile_training(const Config& config, Engine& engine,
                                                     TrainingState& state, const LossFunction& loss,
                                                     const BatchTypes& batch);

/// Of the run whose `step` compile_training() gave; compiles its evaluation, too.
RunMemory run_memory(const Config& config, const DeviceOptions& device, Engine& engine,
                     TrainingState& state, const LossFunction& loss, const DataSource& data,
                     const BatchPlan& batch, const BatchTypes& fields, const CompiledStep& step);

/// The fields of training batches, padded as far as steps of the run ever are.
BatchTypes longest_batch(const Config& config, const DataSource& data, std::int64_t micro_batch);

/// Error kOutOfMemory for a run that would find out on the way that its device is too small: in an
/// evaluation, or at the first long samples. Where the first step already takes too much it is left
/// to that, which can tell what was alive. The model is one of its own, so that nothing of
/// `runtime` changes.
void check_run_memory(const Config& config, const Registry& registry, RankRuntime& runtime,
                      const DataSource& data, const BatchPlan& batch);

}  // namespace lockstep
