// Forms the groups that run as one kernel. Every elementwise op becomes part of a kFusion node, a
// lone one a group of one, so that one kernel class runs all elementwise work; a lone reduction,
// slice or concatenation stays as it is.
//
// A group computes values over one domain (core/ir/group.h): elementwise chains, what is repeated
// along rows, slices of what lies in memory, concatenations of what is computed, reductions of rows
// with what makes and what uses them, and sums of columns or of everything as further results: a
// softmax, a layer norm and its gradient, an optimizer's update of a parameter with its moments are
// one group each. What is needed outside of its group is a result of it, unless it is cheap to
// compute again in each group that needs it. The order of a body's nodes depends on its expressions
// only, so that equal layers give equal bodies.
//
// What may be fused and what pays is said in fusion_rules.h; fusion_groups.h decides.
#pragma once

#include "core/base/log.h"
#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

/// Groups, and why values were not joined to their readers' groups, are logged at debug level 3.
Graph fuse(Graph graph, const Target& target, Log& log);

}  // namespace lockstep
