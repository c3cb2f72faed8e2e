// Which pairs of an alignment are one op that changed, and which are two ops that it paired because
// their lines recorded others in each graph: numbers and attributes of those are no pairs, either.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "core/explain/differences.h"

namespace lockstep {

class ChangedOps {
 public:
  explicit ChangedOps(const Comparison& graphs);

  /// Whether the new graph's op and its counterpart are one op. Where their lines recorded nothing
  /// that one graph has alone, they are. Elsewhere the ops around them tell: values that it takes,
  /// and an op that takes its result, must correspond; ops may have come between on one side, and
  /// in one graph only. Where there are others in both, a formula was replaced. Positions and the
  /// like are one on one line, or where they are taken alike.
  bool are_one(ValueId id) const;

 private:
  using Place = std::pair<std::string, std::string>;  ///< line and scope
  /// How well what is around two ops corresponds.
  enum Fit : int { kOther = 0, kInserted = 1, kSame = 2 };

  bool is_matched(const GraphDescriptor& graph, ValueId id) const;
  bool is_disturbed(const GraphDescriptor& graph, ValueId id) const;
  bool is_same_place(ValueId old, ValueId now) const;
  bool is_made_of(const GraphDescriptor& graph, ValueId id, ValueId source) const;
  Fit fit_of_values(ValueId old, ValueId now) const;
  Fit fit_of_operands(ValueId id) const;
  Fit fit_of_takers(ValueId id) const;

  const Comparison& graphs_;
  std::set<Place> disturbed_;  ///< with ops that one graph has alone
};

}  // namespace lockstep
