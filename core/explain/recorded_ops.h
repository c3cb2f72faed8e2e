// What two programs recorded, whether an output needs it or not: an op that only one graph has may
// have been recorded in both, and be needed in one.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/explain/differences.h"

namespace lockstep {

class RecordedOps {
 public:
  explicit RecordedOps(const Comparison& graphs);

  /// Whether the other program recorded the op, with its line and scope, at least as often as that
  /// of `graph`.
  bool in_both(const GraphDescriptor& graph, ValueId id) const;
  /// Whether both recorded the same ops as often.
  bool are_equal() const { return old_ == now_; }

 private:
  using Counts = std::unordered_map<std::uint64_t, std::int64_t>;  ///< of labels
  const Comparison& graphs_;
  Counts old_;
  Counts now_;
};

}  // namespace lockstep
