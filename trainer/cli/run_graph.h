// Running one graph on the host, outside of any training: by the naive reference, or compiled as in
// training. What `lockstep ir run` does, and what compares the two.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/ir/graph.h"
#include "core/ir/host_function.h"
#include "core/ir/target.h"
#include "core/runtime/loaded_plan.h"

namespace lockstep {

/// Outputs of `graph` for `inputs` (one per Graph::inputs), by the passes and kernels that training
/// uses. Collectives see one rank and one shard: an all_reduce is its operand. Error kOutOfMemory,
/// before anything runs, if the machine has less memory available than that takes; kUsage for a
/// graph that one rank cannot run, or that calls what is not in `functions`. The inputs are left as
/// they are.
std::vector<HostTensor> run_compiled(const Graph& graph, std::span<const HostTensor> inputs,
                                     int threads, const Target& target, Log& log,
                                     const HostFunctions& functions = {});

/// The two halves of run_compiled: what a graph compiles to, and running that.
LoadedPlan compile_graph(const Graph& graph, const Target& target, Log& log,
                         const HostFunctions& functions = {});
std::vector<HostTensor> run_plan_on_host(const LoadedPlan& plan, std::span<const HostTensor> inputs,
                                         int threads);

/// The same by evaluate_reference().
std::vector<HostTensor> run_reference(const Graph& graph, std::span<const HostTensor> inputs,
                                      const HostFunctions& functions = {});

/// The graph with every all_reduce replaced by its operand, in bodies too.
Graph without_all_reduces(const Graph& graph);

}  // namespace lockstep
