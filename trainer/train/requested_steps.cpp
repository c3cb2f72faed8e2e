#include "trainer/train/requested_steps.h"

#include <utility>

namespace lockstep {

RequestedSteps::RequestedSteps(RankRuntime& runtime, const RunSpec& spec, double learning_rate,
                               StepPlan of_steps, std::int64_t total_steps)
    : plan(std::move(of_steps)),
      schedule(spec.options.scheduler, learning_rate, total_steps),
      first_micro_batch(plan.batch.first_micro_batch(runtime.communicator().topology().position())),
      inputs(make_step_inputs(runtime.engine(), first_micro_batch,
                              plan.batch.micro_batches_per_rank, spec.options.seed)) {}

void RequestedSteps::note_position(TrainerState& progress) const {
  const std::int64_t per_epoch = steps_per_epoch();
  progress.epoch = progress.step / per_epoch;
  progress.sample_position = progress.step % per_epoch * plan.batch.global_batch_size;
}

}  // namespace lockstep
