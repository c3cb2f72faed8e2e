// Which nodes of two recorded graphs stand for the same work: anchors by labels that are unique,
// between them the longest common subsequence in order of creation, then what computes the same
// from the same, wherever it stands.
#pragma once

#include <vector>

#include "core/explain/descriptor.h"

namespace lockstep {

struct Alignment {
  std::vector<ValueId> to_old;  ///< for each new node; kNoValue: it was added
  std::vector<ValueId> to_new;  ///< for each old node; kNoValue: it was removed
  /// Of the new nodes: the fewest that would have to change their places to stand as the old ones.
  std::vector<bool> moved;
};

/// Milliseconds for ten thousand nodes that have most in common.
Alignment align(const GraphDescriptor& old, const GraphDescriptor& now);

/// Node by node, for graphs with the same skeleton.
Alignment align_equal(const GraphDescriptor& now);

}  // namespace lockstep
