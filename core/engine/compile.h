// From a traced step to plans: split at the all_reduces, run the passes, choose kernels, plan
// memory. See passes/split_step.h for the two programs of a step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "core/base/log.h"
#include "core/engine/artifact_store.h"
#include "core/ir/target.h"
#include "core/kernels/kernel_cache.h"
#include "core/passes/split_step.h"
#include "core/runtime/plan.h"
#include "core/runtime/reduction.h"

namespace lockstep {

/// A step compiled: immutable, shared by the cache and by executions in flight.
struct CompiledStep {
  Graph step;       ///< what was compiled; compared in full on a cache hit
  SplitStep split;  ///< graphs emptied; how programs' inputs and outputs map to the step's
  Plan shard;
  Plan update;
  ReductionLayout reduction;

  bool has_shard_program() const { return !shard.graph.outputs.empty(); }
};

struct CompileOptions {
  Target target;
  BucketOptions buckets;
  bool verify = LOCKSTEP_VERIFY;       ///< check the graph after every pass; on in debug builds
  std::size_t max_cached_steps = 256;  ///< that are kept in memory; see compile_cache.h
  ArtifactOptions artifacts = {};      ///< where they are kept on disk; by default nowhere
  Activity activity = {};              ///< told of every pass and function
  /// What steps may call on the host; must outlive the compiler. Null: nothing. An Engine takes its
  /// trace's, in which every recorded call is registered.
  const HostFunctions* host_functions = nullptr;
  std::vector<std::string> disabled_passes = {};  ///< see PassOptions; for finding faults
};

/// Error kUsage for steps that cannot be split, or that call host functions that are not
/// registered.
std::shared_ptr<const CompiledStep> compile_step(Graph step, const CompileOptions& options,
                                                 KernelCache& kernels, Log& log);

/// One program without a split: passes, kernels, plan. The graph must hold no all_reduce.
Plan compile_program(const Graph& graph, const CompileOptions& options, KernelCache& kernels,
                     Log& log);

}  // namespace lockstep
