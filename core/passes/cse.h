// Common subexpressions: nodes that compute the same from the same operands become one (structural
// value numbering). Inputs never merge, not even equal scalars, and neither do barriers: two
// barriers keep two recomputations apart. random_bits with equal keys, stream and shape merges.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

Graph cse(Graph graph, const Target& target);

}  // namespace lockstep
