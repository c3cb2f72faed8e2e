// Ops that one of two graphs has alone, by the place in the program that recorded them: an `if`
// that is taken once adds a line's ops, their gradients among them, and perhaps those of other
// lines that work on their results.
#pragma once

#include <string>
#include <vector>

#include "core/explain/descriptor.h"

namespace lockstep {

struct OpGroup {
  std::vector<ValueId> ids;  ///< in their order; no inputs
  /// The one to name: the first that does more than to feed another, and is no gradient if any is
  /// none.
  ValueId told = kNoValue;
  /// It works on what an earlier group makes, or is the same line of an earlier one in another
  /// scope.
  bool follows = false;
  int other_scopes = 0;  ///< in which the line is, too
};

/// Ops that say little: constants, and what repeats and counts.
bool is_leaf(const GraphDescriptor& graph, ValueId id);

/// `ids`: of the ops and inputs that the other graph has not. Groups are in the order of their
/// first ops; an op without a line is a group of its own.
std::vector<OpGroup> group_ops(const GraphDescriptor& graph, const std::vector<ValueId>& ids);

}  // namespace lockstep
