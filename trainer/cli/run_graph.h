// Runs one graph on the host, outside of training: with the naive reference, or compiled as in
// training. `lockstep ir run` uses it, and comparisons of the two.
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

class KernelCache;

/// Outputs of `graph` for `inputs` (one per Graph::inputs), with the passes and kernels of
/// training. Collectives are for one rank and one micro-batch: an all_reduce is its operand. Error
/// kOutOfMemory, before anything runs, if the machine has less memory available than the graph
/// needs; kUsage for a graph that one rank cannot run, or that calls a function missing in
/// `functions`. Does not change the inputs.
std::vector<HostTensor> run_compiled(const Graph& graph, std::span<const HostTensor> inputs,
                                     int threads, const Target& target, Log& log,
                                     const HostFunctions& functions = {});

/// The two halves of run_compiled: compiling a graph, with kernels for that target which other
/// graphs may share, and running the result.
LoadedPlan compile_graph(const Graph& graph, const Target& target, KernelCache& kernels, Log& log,
                         const HostFunctions& functions = {});
std::vector<HostTensor> run_plan_on_host(const LoadedPlan& plan, std::span<const HostTensor> inputs,
                                         int threads);

/// The same with evaluate_reference().
std::vector<HostTensor> run_reference(const Graph& graph, std::span<const HostTensor> inputs,
                                      const HostFunctions& functions = {});

/// The graph with every all_reduce replaced by its operand, in bodies too.
Graph without_all_reduces(const Graph& graph);

}  // namespace lockstep
