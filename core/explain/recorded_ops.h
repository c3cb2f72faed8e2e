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

  /// Whether only `graph` has the op, and the other program recorded it as often, with its line and
  /// scope: no output needs it there. False for inputs, constants and the like.
  bool is_dropped_in_other(const GraphDescriptor& graph, ValueId id) const;
  /// Whether the other program recorded such an op of the line and scope at all.
  bool is_in_other(const GraphDescriptor& graph, ValueId id) const;
  /// Whether both recorded the same ops as often.
  bool are_equal() const { return old_ == now_; }

 private:
  using Counts = std::unordered_map<std::uint64_t, std::int64_t>;  ///< of labels
  std::int64_t count_in_other(const GraphDescriptor& graph, ValueId id) const;

  const Comparison& graphs_;
  Counts old_;
  Counts now_;
};

}  // namespace lockstep
