// The oracle: every op as naive loops, written to be obviously correct. Floating-point values are
// computed in f64 and rounded to the node's dtype after every node, so that running a graph in f64
// gives the most exact result, and running it in f32 gives the result of correctly rounded ops.
#pragma once

#include <span>
#include <vector>

#include "core/ir/graph.h"
#include "core/ir/host_function.h"

namespace lockstep {

/// Outputs of `graph` for `inputs` (one per Graph::inputs, types checked). Collectives see one
/// rank. `functions` are the host functions that it calls.
std::vector<HostTensor> evaluate_reference(const Graph& graph, std::span<const HostTensor> inputs,
                                           const HostFunctions& functions = {});

/// The same for several ranks at once: inputs[r] are rank r's, result[r] its outputs.
std::vector<std::vector<HostTensor>> evaluate_reference_ranks(
    const Graph& graph, std::span<const std::vector<HostTensor>> inputs,
    const HostFunctions& functions = {});

/// The results of one node (several of a group or a host_call) on given operand values.
std::vector<HostTensor> evaluate_reference_node(const Node& node,
                                                std::span<const HostTensor> operands,
                                                const HostFunctions& functions = {});

/// The graph with every f32, bf16 and f16 type, literal and `to` replaced by f64: for oracles.
Graph to_f64(const Graph& graph);

}  // namespace lockstep
