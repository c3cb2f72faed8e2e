// A plan with everything needed to run it in this process: kernels with their machine code,
// functions on the host, the constants' bytes. The executor runs it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/base/activity.h"
#include "core/base/buffer.h"
#include "core/ir/host_function.h"
#include "core/runtime/chain.h"
#include "core/runtime/plan.h"

namespace lockstep {

class KernelCache;

struct LoadedPlan {
  std::shared_ptr<const Plan> plan;
  std::vector<std::shared_ptr<const Kernel>> kernels;  ///< one per command; null for non-kernels
  std::map<ValueId, HostFunction> host_functions;      ///< of the host calls, by Command::value
  std::map<std::size_t, ChainSchedule> chains;         ///< by the first of their commands
  std::shared_ptr<const Buffer> constants;             ///< Area::kConstant
};

/// Generates the code of kernels that `kernels` does not have, and counts each as progress of
/// `activity`. Host functions that the plan calls are those of `functions`: error kUsage if one is
/// not registered. Error kData with the cause if the kernels need more than the plan provides: then
/// the plan was made for other kernels.
LoadedPlan load(std::shared_ptr<const Plan> plan, KernelCache& kernels,
                const HostFunctions& functions = {}, Activity activity = {});

}  // namespace lockstep
