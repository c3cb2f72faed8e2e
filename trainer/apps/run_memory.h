// A run's peak device memory: computed before it begins, exact to the byte.
#pragma once

#include <cstdint>
#include <memory>

#include "core/engine/step_memory.h"
#include "core/runtime/device.h"
#include "trainer/config/batch_plan.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/task/batch_types.h"
#include "trainer/task/data_source.h"
#include "trainer/train/step_plan.h"
#include "trainer/train/training_step.h"

namespace lockstep {

/// The memory of a rank in bytes, whichever of loader, device or host is faster.
struct RunMemory {
  std::int64_t state = 0;
  std::int64_t batches = 0;       ///< reserved for batches, and the micro-batches' indices
  std::int64_t step_results = 0;  ///< of training steps in flight
  std::int64_t results = 0;       ///< the same, or those of evaluation batches if they are larger
  StepMemory step;                ///< of one step; its results are included in those
  std::int64_t evaluation = 0;    ///< what an evaluation needs in addition to a step

  std::int64_t total() const {
    return state + batches + results + step.total() - step.results + evaluation;
  }
  /// Without evaluations.
  std::int64_t training() const {
    return state + batches + step_results + step.total() - step.results;
  }
};

/// Records the training step for batches of these types, and compiles nothing: `state` needs no
/// values, and has none afterwards.
Graph record_training(const Config& config, Engine& engine, TrainingState& state,
                      const LossFunction& loss, const BatchTypes& batch);

/// The same, compiled.
std::shared_ptr<const CompiledStep> compile_training(const Config& config, Engine& engine,
                                                     TrainingState& state, const LossFunction& loss,
                                                     const BatchTypes& batch);

/// The memory of the run whose `step` compile_training() returned; also compiles its evaluation.
RunMemory run_memory(const Config& config, const DeviceOptions& device, Engine& engine,
                     TrainingState& state, const LossFunction& loss, const DataSource& data,
                     const BatchPlan& batch, const BatchTypes& fields, const CompiledStep& step);

/// The fields of training batches, padded to the maximum length in the run.
BatchTypes longest_batch(const Config& config, const DataSource& data, const StepSampler& sampler);

/// Error kOutOfMemory for a run that would run out of device memory later: in an evaluation, or at
/// the first long samples. If the first step already needs too much, that step throws the error,
/// since it can list the live tensors. Uses its own model, so that `runtime` does not change.
void check_run_memory(const Config& config, const Registry& registry, RankRuntime& runtime,
                      const DataSource& data, const StepPlan& plan);

}  // namespace lockstep
