// Forms the groups that run as one kernel. Every elementwise op becomes part of a kFusion node, a
// lone one a group of one, so that one kernel class runs all elementwise work.
//
// A group has one result. Its body is a graph whose inputs are the group's operands in order and
// whose nodes are elementwise ops, broadcasts, iotas, random_bits and scalar constants, all of the
// result's shape but for what broadcasts repeat and the keys of random_bits, which are inputs or
// scalar constants. A value joins the group of its users if they are all in one group; with users
// in several groups or outside it is a result of its own, unless it is cheap to compute again in
// each group. The order of a body's nodes depends on the expression only, so that equal layers give
// equal bodies.
//
// What may be fused and what pays is said in fusion_rules.h; fusion_groups.h decides.
#pragma once

#include "core/base/log.h"
#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

/// Groups, and why values end one, are logged at debug level 3.
Graph fuse(Graph graph, const Target& target, Log& log);

}  // namespace lockstep
