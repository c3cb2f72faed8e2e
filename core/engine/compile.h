// From a traced step to plans: split at the all_reduces, run the passes, plan kernels and memory.
// No machine code is generated and no tensor needs memory; load_step does the rest. See
// passes/split_step.h for the two programs of a step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "core/engine/artifact_store.h"
#include "core/ir/host_function.h"
#include "core/ir/target.h"
#include "core/runtime/compiled_step.h"
#include "core/virtual_time/step_durations.h"

namespace lockstep {

class KernelCache;
class Log;
class SpanStream;
class UpdatePlans;
struct LoadedPlan;
struct LoadedStep;

struct CompileOptions {
  Target target;
  BucketOptions buckets = {};
  bool verify = LOCKSTEP_VERIFY;   ///< check the graph after every pass; on in debug builds
  std::size_t max_programs = 64;   ///< kept in memory; see compile_cache.h
  bool stop_beyond = false;        ///< raise an error if more are needed, instead of a warning
  ArtifactOptions artifacts = {};  ///< where programs are kept on disk; default: nowhere
  std::string dump_folder = {};    ///< see program_dump.h; empty: no dumps
  Activity activity = {};          ///< counts every pass and function
  SpanStream* spans =
      nullptr;  ///< gets a span for every pass, or null. An Engine sets its device's
  /// The host functions that steps may call; must outlive the compiler. Null: none. An Engine uses
  /// its trace's, in which every recorded call is registered.
  const HostFunctions* host_functions = nullptr;
  std::vector<std::string> disabled_passes = {};  ///< see PassOptions; for finding faults
  /// Plans for a device whose kernels nobody knows: of plans only the memory counts, and they have
  /// no commands. Kernels take no scratch memory; fused groups overwrite what they could here.
  bool unknown_kernels = false;
  /// What a step takes on the device that this rank stands for. Null: virtual time is not kept.
  std::function<StepDurations(const CompiledStep&)> durations = {};
};

/// The host functions of the options, or an empty set.
const HostFunctions& functions_of(const CompileOptions& options);

/// `updates` holds the update programs of other steps. Error kUsage for steps that cannot be split,
/// or that call host functions that are not registered.
std::shared_ptr<const CompiledStep> compile_step(Graph step, const CompileOptions& options,
                                                 KernelCache& kernels, UpdatePlans& updates,
                                                 Log& log);

/// Loads the kernels of both programs. Errors of load() in loaded_plan.h.
std::shared_ptr<LoadedStep> load_step(std::shared_ptr<const CompiledStep> compiled,
                                      const CompileOptions& options, KernelCache& kernels);

/// Compiles one program without a split. The graph must hold no all_reduce.
Plan compile_program(Graph graph, const CompileOptions& options, KernelCache& kernels, Log& log);
/// The same with its kernels.
LoadedPlan compile_and_load(const Graph& graph, const CompileOptions& options, KernelCache& kernels,
                            Log& log);

}  // namespace lockstep
