// The decision of the fusion pass: which value is computed in which group.
#pragma once

#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

/// Why a group ends at a value: the value must be in memory.
enum class Boundary : std::uint8_t {
  kNone,
  kOutput,
  kOutsideUse,       ///< an op outside of groups reads it
  kBroadcastSource,  ///< a broadcast repeats it, or it is a key of random_bits
  kRecomputeSource,  ///< groups read it to compute another value again
  kSeveralGroups,    ///< members of several groups use it
  kFull,             ///< its users' group has kMaxGroupNodes members
  kManyOperands,     ///< its users' group would read from more than kMaxGroupOperands places
};
std::string_view describe(Boundary boundary);

/// Assigns every fusible value to the group of one root. Values are visited after all their users,
/// and each user says what it wants of its operands: to have them in its group, or in memory.
/// A group never reaches itself through an outside node: only its root has users outside.
class FusionGroups {
 public:
  /// `cloned` values are computed in every group that uses them.
  FusionGroups(const Graph& graph, std::vector<bool> cloned);

  /// Whether the value is the result of a group.
  bool is_root(ValueId id) const { return root_[static_cast<std::size_t>(id)] == id; }
  /// Whether the value is computed inside of the group of `root`.
  bool is_member(ValueId id, ValueId root) const;
  /// Whether the value is computed in groups only, and never in memory.
  bool is_absorbed(ValueId id) const;
  Boundary boundary(ValueId id) const { return wishes_[static_cast<std::size_t>(id)].boundary; }

 private:
  struct Wish {
    ValueId group = kNoValue;  ///< the one group whose members use the value
    Boundary boundary = Boundary::kNone;
  };

  void in_memory(ValueId id, Boundary why);
  void in_group(ValueId id, ValueId root);
  void visit(ValueId id);
  bool reads_too_much(ValueId root, ValueId id);
  void ask_operands(ValueId id, ValueId root);

  const Graph& graph_;
  std::vector<bool> cloned_;
  std::vector<Wish> wishes_;
  std::vector<ValueId> root_;  ///< of fusible values that are not cloned; a clone may be a root
  std::vector<int> size_;      ///< members of each root's group
  /// What each root's group reads from outside of it; an operand that joins leaves the set.
  std::unordered_map<ValueId, std::set<ValueId>> reads_;
};

/// Groups with cheap values cloned, then again with those cloned that find_recomputed names.
FusionGroups make_fusion_groups(const Graph& graph);

}  // namespace lockstep
