// Forms the groups that run as one kernel. Every elementwise op becomes part of a kFusion node (a
// single one becomes a group of one), so that one kernel class runs all elementwise work. A single
// reduction, slice or concatenation stays as it is.
//
// A group computes values over one domain (core/ir/group.h): elementwise chains, broadcasts along
// rows, slices of values in memory, concatenations of computed values, reductions of rows with
// their producers and users, and sums of columns or of all elements as further results. A softmax,
// a layer norm and its gradient, and an optimizer's update of a parameter with its moments are one
// group each. A value that is needed outside of its group is a result of the group, unless it is
// cheap to compute again in each group that needs it. The order of a body's nodes depends on its
// expressions only, so that equal layers give equal bodies.
//
// fusion_rules.h states what may be fused and what pays; fusion_groups.h decides.
#pragma once

#include "core/base/log.h"
#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

/// Groups, and why values were not joined to their readers' groups, are logged at debug level 3.
Graph fuse(Graph graph, const Target& target, Log& log);

}  // namespace lockstep
