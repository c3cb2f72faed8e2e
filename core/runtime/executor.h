// Runs a plan.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/base/activity.h"
#include "core/base/spans.h"
#include "core/runtime/communicator.h"
#include "core/runtime/loaded_plan.h"

namespace lockstep {

/// The memory of one execution. Inputs that outputs are donated from are written to.
struct PlanMemory {
  std::vector<std::byte*> inputs;
  std::vector<std::byte*> outputs;  ///< for a donated output: the input's memory
  std::byte* arena = nullptr;
};

/// Identifies the plan and its step in spans.
struct PlanCall {
  std::int64_t program = -1;  ///< CompiledStep::id
  bool is_update = false;
  std::int64_t micro_batch = 0;
  std::uint64_t correlation = 0;
};

struct PlanContext {
  ThreadPool& pool;
  Communicator& communicator;
  std::int64_t step = -1;
  Hash128 signature;       ///< of the ordered collectives of the step, for their headers
  Activity activity = {};  ///< counts every command
  /// Gets spans of host calls, and of each bundle a kCommand with the number of its first command.
  /// They do not include the time of callbacks. The time of a chain is divided among its bundles,
  /// one after the other, in proportion to the time of its threads. Null: no spans.
  SpanStream* spans = nullptr;
  PlanCall call = {};
};

/// Notifications of an execution to its caller. Any may be null.
struct PlanCallbacks {
  /// Called once, before anything is written to an output.
  std::function<void()> before_outputs = {};
  /// Output i is complete and no longer read: its memory may be changed from now on. Outputs that
  /// no command uses are finished at the start.
  std::function<void(std::int32_t)> finished = {};
  /// Command i has run: its results, in order. Called before the next bundle overwrites anything.
  std::function<void(std::size_t, std::span<const std::byte* const>)> ran = {};
};

/// Runs all commands in order on the calling thread.
void run_plan(const LoadedPlan& loaded, const PlanMemory& memory, const PlanContext& context,
              const PlanCallbacks& callbacks = {});

}  // namespace lockstep
