#include "trainer/train/step_plan.h"

namespace lockstep {

StepPlan plan_steps(const DataLoader& data, std::uint64_t seed, bool deterministic, int ranks) {
  const DataLoaderOptions& options = data.options();
  return {plan_batch({.global_batch_size = options.global_batch_size,
                      .micro_batch_size = options.micro_batch_size,
                      .deterministic = deterministic},
                     ranks),
          make_step_sampler(data.dataset(), seed, options.global_batch_size, options.shuffle,
                            options.group_by_length)};
}

}  // namespace lockstep
