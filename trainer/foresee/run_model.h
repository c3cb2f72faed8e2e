// What this machine's limits say of a run's step, part by part: with it, times that were measured
// in one run become those of a run with other settings.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ir/machine_limits.h"
#include "core/kernels/base/work_class.h"
#include "core/runtime/compiled_step.h"
#include "trainer/settings/config.h"

namespace lockstep {

/// Seconds of a step by class of work, all calls of a program together.
using WorkTimes = std::array<double, kWorkClassCount>;

/// A bucket of gradients: its bytes, when it is complete, as a share of a call of the gradient
/// program, and the seconds that cores need to exchange it between nodes, whatever the link.
struct ModelBucket {
  double bytes = 0;
  double ready = 1;
  double cores = 0;
};

struct RunModel {
  WorkTimes gradient{};
  WorkTimes update{};
  std::vector<ModelBucket> buckets;
  std::int64_t micro_batches = 1;  ///< of a rank
  double sent = 0;  ///< bytes that a node sends of each byte that is all-reduced; 0 on one node
  double sums = 0;  ///< seconds to add a micro-batch's gradients to others
};

/// Of one rank of a job of `ranks`, on `nodes` machines like this one.
RunModel model_run(const Config& config, const CompiledStep& step, const MachineLimits& limits,
                   int ranks, int nodes);

}  // namespace lockstep
