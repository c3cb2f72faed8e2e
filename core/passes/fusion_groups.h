// The decision of the fusion pass: which values are computed in one group.
//
// Every unit starts as a group of its own. Groups are then joined along links, consumers first,
// sums of columns and totals after all others; finally groups that read the same large value are
// joined. A join must be legal (one domain, all links inside, no path through other work) and
// within bounds; values needed outside become results.
#pragma once

#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "core/passes/fusion_links.h"
#include "core/passes/fusion_order.h"

namespace lockstep {

/// Why two groups stay apart.
enum class Refusal : std::uint8_t {
  kNone,
  kMemory,    ///< the value is read in another shape, is a sum, or belongs to no group
  kDomain,    ///< they run over different rows or columns
  kCycle,     ///< other work needs one of them and is needed by the other
  kTooFar,    ///< too much work lies between them
  kNodes,     ///< more than kMaxGroupNodes members
  kOperands,  ///< more than kMaxGroupOperands
  kResults,   ///< more than kMaxGroupResults
};
std::string_view describe(Refusal refusal);

struct FusionGroup {
  Shape domain;
  int axis = -1;                 ///< rows end here; -1: anywhere
  std::vector<ValueId> members;  ///< units
};

class FusionGroups {
 public:
  /// `cloned` values are computed in every group that uses them.
  FusionGroups(const Graph& graph, std::vector<bool> cloned);

  const FusionLinks& links() const { return links_; }
  /// The unit that represents the group of a unit.
  ValueId group_of(ValueId unit) { return order_.find(unit); }
  const FusionGroup& group(ValueId id) const { return groups_[static_cast<std::size_t>(id)]; }
  /// Whether an output or a reader outside of its group needs the unit.
  bool is_result(ValueId unit);
  /// Units that represent groups, values outside of groups, and clones: each after the values it
  /// reads.
  std::vector<ValueId> order() const { return order_.order(); }

  /// Why the groups of two units were not joined along a link.
  Refusal refusal(FusionRead read, ValueId reader);

 private:
  void add_value(ValueId id);
  bool join_links(bool with_sums);
  void join_siblings();
  Refusal join(ValueId a, ValueId b);
  Refusal measure(ValueId a, ValueId b);

  const Graph& graph_;
  FusionLinks links_;
  FusionOrder order_;
  std::vector<FusionGroup> groups_;  ///< of units that represent one
};

/// Makes groups with cheap values cloned; then makes them again, with the values cloned that are
/// worth computing again.
FusionGroups make_fusion_groups(const Graph& graph);

}  // namespace lockstep
