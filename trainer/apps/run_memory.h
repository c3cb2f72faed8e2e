// A run's peak device memory: computed before it begins, exact to the byte.
#pragma once

#include <cstdint>
#include <memory>

#include "core/engine/step_memory.h"
#include "core/runtime/compiled_step.h"
#include "core/runtime/device.h"
#include "trainer/config/batch_plan.h"

namespace lockstep {

/// The programs of a run, and all else that its memory depends on, for one rank: see RunPlanner.
struct PlannedRun {
  std::shared_ptr<const CompiledStep> step;        ///< for batches of the longest samples
  std::shared_ptr<const CompiledStep> evaluation;  ///< null: the run has none
  DeviceOptions device;
  std::int64_t device_prefetch = 0;         ///< data.device_prefetch_size
  std::int64_t prefetch = 0;                ///< data.loader_prefetch_size
  std::int64_t micro_batch_bytes = 0;       ///< on the device
  std::int64_t evaluation_batch_bytes = 0;  ///< the same, of evaluations
  std::int64_t state = 0;                   ///< bytes of all tensors that live as long as the run
  std::int64_t slot_bytes = 0;              ///< of it, the optimizer's
  std::int64_t largest_block_bytes = 0;     ///< of weights, in the type of products
  std::int64_t staging = 0;                 ///< host memory of a checkpoint's snapshot
  std::int64_t parameters = 0;              ///< elements
  std::int64_t slots = 0;                   ///< of the optimizer, per parameter
  std::int64_t samples = 0;                 ///< of the training data
  std::int64_t tokens_per_sample = 0;       ///< 0 for images
};

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

RunMemory run_memory(const PlannedRun& run, const BatchPlan& batch);

/// Host memory of a rank besides that of its device: batches that its loader keeps ready.
std::int64_t loader_bytes(const PlannedRun& run, const BatchPlan& batch);

}  // namespace lockstep
