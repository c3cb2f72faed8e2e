// Undoes a trace of dropped ops in a graph: inputs and constants stand where their first user, even
// a dropped one, was recorded. Internal to core/trace.
#pragma once

#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

/// Moves each kept input and constant whose first user is not kept to its first kept user, so that
/// a graph does not depend on dropped ops. Inputs stay ordered by their places. `keep` is permuted
/// with the nodes. Returns the former places of Graph::inputs, in their new order; nothing if none
/// moved.
std::vector<std::size_t> move_late_leaves(Graph& graph, std::vector<bool>& keep);

}  // namespace lockstep
