// The executable specification of the IR. It holds after tracing and after every pass; a violation
// is a bug in the code that made the graph.
#pragma once

#include <string_view>

#include "core/ir/graph.h"

namespace lockstep {

/// Checks, for every node in order:
///   order       operands come before the node
///   attributes  those and only those that the op takes (signature.h)
///   type        what infer_type gives
///   literal     constants have one of their type, others have none
///   body        calls and fusions have one: it returns one value of the node's type (a fusion's
///               perhaps more), its inputs have the operands' types, it updates nothing and is
///               itself valid; others have none
///   group       a fusion keeps the contract of group.h; its further results follow it
/// and for the graph:
///   inputs      name every input node exactly once
///   outputs     exist
///   updates     name an output and an input of one type, each at most once
/// Error kInternal that names the pass (`after`: "fuse"), the rule, and the node's text.
void verify(const Graph& graph, std::string_view after);

}  // namespace lockstep
