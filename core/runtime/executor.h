// Walks a plan.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/runtime/communicator.h"
#include "core/runtime/plan.h"

namespace lockstep {

/// The memory of one execution. Inputs that outputs are donated from are written to.
struct PlanMemory {
  std::vector<std::byte*> inputs;
  std::vector<std::byte*> outputs;  ///< for a donated output: the input's memory
  std::byte* arena = nullptr;
};

struct PlanContext {
  ThreadPool& pool;
  Communicator& communicator;
  std::int64_t step = -1;
  Hash128 signature;  ///< of the ordered collectives of the step, for their headers
};

/// Runs all commands in order on the calling thread. `finished(i)` is called as soon as output i is
/// complete and read no more: its memory may be changed from then on. Outputs that no command
/// touches are finished at the start.
void run_plan(const Plan& plan, const PlanMemory& memory, const PlanContext& context,
              const std::function<void(std::int32_t)>& finished = {});

}  // namespace lockstep
