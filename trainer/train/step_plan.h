// How the data of a run is divided into steps: the size of the batches, and their samples.
#pragma once

#include <cstdint>

#include "data/sampler.h"
#include "trainer/config/batch_plan.h"
#include "trainer/train/data_loader.h"

namespace lockstep {

/// Made once for a run.
struct StepPlan {
  BatchPlan batch;
  StepSampler sampler;
};

/// Error kUsage for a batch that does not divide over the ranks, or is larger than the dataset.
StepPlan plan_steps(const DataLoader& data, std::uint64_t seed, bool deterministic, int ranks);

}  // namespace lockstep
