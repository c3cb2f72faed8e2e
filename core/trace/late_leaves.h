// What a dropped op leaves in a graph: the place of inputs and numbers that it was the first to
// take. Internal to core/trace.
#pragma once

#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

/// Moves each kept input and number whose first user is not kept to the first user that is: then a
/// graph does not depend on what was recorded and thrown away. Inputs stay ordered by their places.
/// `keep` goes with the nodes. Returns the former places of Graph::inputs, in their new order;
/// nothing if none moved.
std::vector<std::size_t> move_late_leaves(Graph& graph, std::vector<bool>& keep);

}  // namespace lockstep
