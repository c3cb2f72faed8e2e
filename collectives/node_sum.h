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

/// On one node: sums this rank's stripes of `count` elements at `offset` (bytes), which no rank
/// changes meanwhile, over the ranks of the node.
void sum_on_node(const SharedRegion& region, DType dtype, std::size_t offset, std::int64_t count);

/// The ranks that work in one lane, one of each node, in the order of the nodes.
struct LaneGroup {
  int lane;
  Group group;
};
/// The lanes that this rank works in, ascending: all ranks of a job work through them in one order.
std::vector<LaneGroup> lane_groups(Transport& transport, const std::function<void()>& interrupt);

/// How the nodes' runs of positions make up the summation tree: for each node, the subtrees that it
/// sums by itself. With `fixed_order` these are the largest complete subtrees, so that the result
/// is that of the tree over all ranks; without, each node sums all of its ranks first.
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
