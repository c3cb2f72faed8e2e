// Which groups of ops that only one graph has are there because of something else: of inputs'
// types, of numbers, of the mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/explain/attribute_rules.h"
#include "core/explain/differences.h"
#include "core/explain/mode_change.h"
#include "core/explain/op_groups.h"

namespace lockstep {

class GroupRules {
 public:
  /// `leaves`: differences of what both graphs have. `added`, `removed`: the nodes that the new, or
  /// the old graph has alone. The references must outlive it.
  GroupRules(const Comparison& graphs, const ModeChange& mode,
             const std::vector<Difference>& leaves, const std::vector<ValueId>& added,
             const std::vector<ValueId>& removed);

  /// `graph`: the one that has the group.
  Follows judge(const GraphDescriptor& graph, const OpGroup& group) const;

 private:
  using Counts = std::unordered_map<std::uint64_t, std::int64_t>;

  bool is_kept(const GraphDescriptor& graph, const OpGroup& group) const;
  bool only_leaves(const GraphDescriptor& graph, const OpGroup& group) const;
  bool are_shared(const GraphDescriptor& graph, const OpGroup& group) const;
  bool converts(const GraphDescriptor& graph, const OpGroup& group) const;
  bool follows_input(const GraphDescriptor& graph, const OpGroup& group) const;
  bool begins_with_dtype(const GraphDescriptor& graph, const OpGroup& group) const;
  bool restores_shape(const GraphDescriptor& graph, const OpGroup& group) const;
  bool fits_sizes(const GraphDescriptor& graph, const OpGroup& group) const;
  std::set<std::size_t> changed_dimensions(const GraphDescriptor& graph, ValueId id) const;
  std::set<std::int64_t> changed_sizes(const GraphDescriptor& graph) const;
  bool has_other_dtype(const GraphDescriptor& graph, ValueId id) const;
  bool touches_other_dtype(const GraphDescriptor& graph, const OpGroup& group) const;
  bool is_next_of_other_dtype(const GraphDescriptor& graph, const OpGroup& group) const;
  bool place_takes_other_dtype(const GraphDescriptor& graph, const OpGroup& group) const;
  std::set<std::string> find_sized_lines(const GraphDescriptor& graph,
                                         const std::vector<ValueId>& own) const;
  bool is_loop(const GraphDescriptor& graph, const OpGroup& group) const;
  bool repeats_as_often(const GraphDescriptor& graph, std::int64_t count,
                        std::int64_t others) const;

  const Comparison& graphs_;
  const GraphDescriptor& old_;
  const GraphDescriptor& now_;
  const ModeChange& mode_;
  const std::vector<Difference>& leaves_;
  const std::vector<ValueId>& added_;
  const std::vector<ValueId>& removed_;
  bool sizes_differ_;  ///< of inputs, and that follows from nothing else
  Counts old_counts_;  ///< of labels, if so
  Counts now_counts_;
  std::set<std::string> old_sized_lines_;
  std::set<std::string> now_sized_lines_;
};

}  // namespace lockstep
