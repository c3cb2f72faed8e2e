// Which nodes of two recorded graphs correspond to each other: anchors are nodes with unique
// labels; between them the longest common subsequence in order of creation; then nodes that compute
// the same from the same operands, in any place.
#pragma once

#include <vector>

#include "core/explain/descriptor.h"

namespace lockstep {

struct Alignment {
  Alignment() = default;
  /// Nothing corresponds yet, and nothing moved.
  Alignment(const GraphDescriptor& old, const GraphDescriptor& now)
      : to_old(index_of(now.size()), kNoValue),
        to_new(index_of(old.size()), kNoValue),
        moved(index_of(now.size()), false) {}
  void match(ValueId old, ValueId now) {
    to_old[index_of(now)] = old;
    to_new[index_of(old)] = now;
  }

  std::vector<ValueId> to_old;  ///< for each new node; kNoValue: it was added
  std::vector<ValueId> to_new;  ///< for each old node; kNoValue: it was removed
  /// Marks the smallest set of new nodes that must move to restore the order of the old ones.
  std::vector<bool> moved;
};

/// Takes milliseconds for ten thousand nodes if the graphs are mostly equal.
Alignment align(const GraphDescriptor& old, const GraphDescriptor& now);

/// Node by node, for graphs with the same skeleton.
Alignment align_equal(const GraphDescriptor& now);

}  // namespace lockstep
