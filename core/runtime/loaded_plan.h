// A plan with what it takes to run it in this process: kernels with their machine code, functions
// on the host, the constants' bytes. The executor runs it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/base/activity.h"
#include "core/base/buffer.h"
#include "core/ir/host_function.h"
#include "core/kernels/kernel_cache.h"
#include "core/runtime/chain.h"
#include "core/runtime/plan.h"

namespace lockstep {

struct LoadedPlan {
  std::shared_ptr<const Plan> plan;
  std::vector<std::shared_ptr<const Kernel>> kernels;  ///< one per command; null for non-kernels
  std::map<ValueId, HostFunction> host_functions;      ///< of the host calls, by Command::value
  std::map<std::size_t, ChainSchedule> chains;         ///< by the first of their commands
  std::shared_ptr<const Buffer> constants;             ///< Area::kConstant
};

/// Generates the kernels' code, for what `kernels` has not, and tells `activity` of each. What the
/// plan calls on the host is of `functions`, error kUsage if it is not registered there. Error
/// kData that says what is wrong if the kernels need more than the plan promises them: it was made
/// for others.
LoadedPlan load(std::shared_ptr<const Plan> plan, KernelCache& kernels,
                const HostFunctions& functions = {}, Activity activity = {});

}  // namespace lockstep
