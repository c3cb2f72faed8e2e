// Drops nodes that no output depends on.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

/// Inputs stay, used or not: callers bind them by position.
Graph dce(Graph graph, const Target& target);

/// The same, for passes that leave dead nodes behind.
Graph drop_dead(Graph graph);

}  // namespace lockstep
