// Brings a recorded graph into a canonical form, so that equal computations have equal nodes: calls
// are inlined, dead nodes are dropped, operands of commutative ops are ordered (constants right,
// else by number; not those of float maximum and minimum, where the order selects 0 or -0),
// conversions to the same dtype vanish, and data movement is normalized (movement_rules.h).
#pragma once

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

/// Error kUsage if inlining makes more than 2^18 nodes.
Graph canonicalize(Graph graph, const Target& target);

}  // namespace lockstep
