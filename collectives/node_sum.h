// all_reduce of data in a SharedRegion: this rank's part of it.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/group.h"
#include "collectives/shared_arena.h"
#include "core/base/dtype.h"
#include "core/base/topology.h"

namespace lockstep {

/// On one node: sums this rank's stripes over the ranks of the node. The data are `count` elements
/// at `offset` (bytes); no rank changes them meanwhile.
void sum_on_node(const SharedRegion& region, DType dtype, std::size_t offset, std::int64_t count);

/// The ranks that work in one lane, one of each node, in the order of the nodes.
struct LaneGroup {
  int lane;
  Group group;
};
/// The lanes of this rank, ascending: all ranks of a job process lanes in the same order.
std::vector<LaneGroup> lane_groups(Transport& transport, const std::function<void()>& interrupt);

/// The subtrees of the summation tree that each node sums by itself; together they cover the node's
/// run of positions. With `fixed_order` these are the largest complete subtrees, so that the result
/// is that of the tree over all ranks; without it, each node sums all of its ranks first.
struct NodeSubtrees {
  std::vector<LeafRange> own;  ///< of this node, as places in Topology::ranks_of
  Leaves leaves;               ///< of every node
};
NodeSubtrees node_subtrees(const Topology& topology, bool fixed_order);

struct SumScratch {
  Scratch lane;      ///< operands and results of this rank
  Scratch received;  ///< operands of others
};

/// On several nodes: sums this rank's lanes over its node, then over the nodes.
void sum_over_nodes(const SharedRegion& region, const std::vector<LaneGroup>& lanes,
                    const NodeSubtrees& subtrees, DType dtype, std::size_t offset,
                    std::int64_t count, SumScratch& scratch);

}  // namespace lockstep
