// Ops that only one of two graphs has, grouped by the place in the program that recorded them: an
// `if` that is taken once adds a line's ops with their gradients, and perhaps those of other lines
// that use their results.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/explain/descriptor.h"
#include "core/explain/recorded_ops.h"

namespace lockstep {

struct OpGroup {
  std::vector<ValueId> ids;  ///< in their order; no inputs
  /// The op to name: the first that does more than feed another op; not a gradient if there are
  /// other ops.
  ValueId told = kNoValue;
  /// It uses results of an earlier group, or has the line of an earlier one in another scope.
  bool follows = false;
  int other_scopes = 0;  ///< that also contain the line
  /// The other program recorded its ops, too: there no output needs them.
  bool only_dropped = false;
};

/// Ops with little information: constants, broadcasts, iotas.
bool is_leaf(const GraphDescriptor& graph, ValueId id);

/// `ids`: of the ops and inputs that the other graph does not have. `replaced`: lines where that
/// has ops of its own, so that their results are there in both graphs. Groups are in the order of
/// their first ops; an op without a line is a group of its own.
std::vector<OpGroup> group_ops(const GraphDescriptor& graph, const std::vector<ValueId>& ids,
                               const std::set<std::string>& replaced, const RecordedOps& recorded);

}  // namespace lockstep
