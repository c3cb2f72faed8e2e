// Orders the nodes for low peak memory; deterministic. Several orders are made and their peaks
// compared; the traced order wins ties:
//   traced   as recorded, but nodes that read only inputs and constants move down to their first
//            user, and nodes that make an output move up to where their operands are ready, so that
//            gradients are ready early and free their operands
//   greedy   of all nodes that are ready, always the one that grows memory least
// Then updates move after the other readers of the input they replace, so that they can be in
// place.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

Graph schedule(Graph graph, const Target& target);

/// The maximum of bytes alive at once when the nodes run in their order, without inputs, constants,
/// outputs and views: a lower bound for the memory planner unless results are in place.
std::int64_t peak_of_order(const Graph& graph);

}  // namespace lockstep
