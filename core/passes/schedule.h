// Orders the nodes for low peak memory; deterministic. Several orders are made and their peaks
// compared; the traced order wins ties:
//   traced   as recorded, but nodes that read only inputs and constants move down to their first
//            user, and nodes that make an output move up to where their operands are ready, so that
//            gradients leave early and free what they read
//   greedy   of all nodes that are ready always the one that grows memory least
// Then updates move behind the other readers of what they replace, so that they can be in place.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

Graph schedule(Graph graph, const Target& target);

/// The most bytes that are alive at once when the nodes run in their order, inputs, constants and
/// outputs not counted, views free: what the memory planner cannot go below without in-place
/// results.
std::int64_t peak_of_order(const Graph& graph);

}  // namespace lockstep
