// The steps of a run that are queued on the device and whose numbers were not read yet.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "trainer/job/rank_runtime.h"
#include "trainer/optimizers/optimizer_step.h"
#include "trainer/task/batch.h"
#include "trainer/train/step_outcome.h"

namespace lockstep {

struct QueuedStep {
  std::int64_t step;
  UpdateOptions update;
  Batch batch;  ///< to run a non-finite step again
  std::shared_ptr<StepOutcome> outcome;
};

/// All ranks queue the same steps, and so can finish them.
class StepsInFlight {
 public:
  /// `runtime` outlives it.
  explicit StepsInFlight(RankRuntime& runtime) : runtime_(runtime) {}

  void add(QueuedStep step) { steps_.push_back(std::move(step)); }
  bool empty() const { return steps_.empty(); }
  /// Whether the oldest has long been computed, so that reading its numbers does not wait: as many
  /// were queued after it as the device's queue takes.
  bool is_full() const;
  /// Whether steps up to `step` are among them.
  bool has_up_to(std::int64_t step) const { return !empty() && steps_.front().step <= step; }
  /// Removes the oldest and reads its numbers: its outcome has them.
  QueuedStep take();
  /// Waits until all are computed, and reads none.
  void drop();

 private:
  RankRuntime& runtime_;
  std::deque<QueuedStep> steps_;  ///< the oldest first
};

}  // namespace lockstep
