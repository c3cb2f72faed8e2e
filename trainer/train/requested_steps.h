// The steps that a call of Trainer::steps() asked for.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/state.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/optimizers/schedule.h"
#include "trainer/train/run_spec.h"
#include "trainer/train/step_plan.h"
#include "trainer/train/training_step.h"

namespace lockstep {

struct RequestedSteps {
  /// `learning_rate`: of the optimizer. Puts the steps' inputs on the device.
  RequestedSteps(RankRuntime& runtime, const RunSpec& spec, double learning_rate, StepPlan of_steps,
                 std::int64_t total_steps);

  std::int64_t steps_per_epoch() const { return plan.sampler.steps_per_epoch(); }
  /// Sets the epoch and the position in it of a run that has made `progress.step` steps.
  void note_position(TrainerState& progress) const;

  StepPlan plan;
  Schedule schedule;
  std::int64_t first_micro_batch;  ///< of this rank
  StepInputs inputs;
};

}  // namespace lockstep
