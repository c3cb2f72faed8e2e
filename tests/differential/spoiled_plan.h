// A plan that can be changed together with the kernels of its commands.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/kernels/base/kernel.h"
#include "core/runtime/plan.h"

namespace lockstep::testing {

struct SpoiledPlan : Plan {
  std::vector<std::shared_ptr<const Kernel>> kernels;
};

/// A change of a plan before it runs: nothing, or a planted mistake. False: not applicable.
using Spoil = std::function<bool(SpoiledPlan&)>;

}  // namespace lockstep::testing
