// The time of collectives over devices of one profile: rings within a node and between nodes, each
// with a latency and a bandwidth.
#pragma once

#include "core/cost/cost_constants.h"
#include "core/cost/device_profile.h"
#include "core/cost/product_time.h"
#include "core/cost/step_time.h"

namespace lockstep {

struct CollectiveTime {
  KernelTime time;
  // Of it, what the links within nodes and between them take; `both_levels` of the constants says
  // how they add up. The rest is latency.
  double within = 0;
  double between = 0;
};

/// Seconds of an all-reduce of so many bytes over all devices, started in `messages` parts. A
/// reduce-scatter or an all-gather takes half of it. Error kUsage if the profile lacks the links.
CollectiveTime all_reduce_time(double bytes, double messages, const DeviceProfile& device,
                               const Deployment& deployment, const CostConstants& constants);

}  // namespace lockstep
