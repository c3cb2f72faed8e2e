// The ranks of a job, the nodes they run on, and the order in which work is assigned to them.
//
// A rank is a number that the launcher gives and messages use; rank 0 is the master. A *position*
// is a place in the order of the work: nodes by their lowest rank, then ranks. Micro-batches, and
// so the leaves of the summation tree, are assigned by position: a node's micro-batches are one
// contiguous run under any placement of ranks on nodes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

class Topology {
 public:
  /// One rank on one node.
  Topology() : Topology(0, std::vector<int>{0}, {}) {}
  /// This is `rank`; ranks a and b share a node if node_ids[a] == node_ids[b]. `hosts`: a name per
  /// rank, or empty. Error kUsage if there is no such `rank`.
  Topology(int rank, std::span<const int> node_ids, std::vector<std::string> hosts);

  /// The same job as another of its ranks sees it; both share their tables. Error kUsage if there
  /// is no such `rank`.
  Topology seen_by(int rank) const;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(placement_->node_of.size()); }
  int nodes() const { return static_cast<int>(placement_->ranks_of.size()); }

  /// Nodes are numbered from 0 in the order of their lowest ranks.
  int node() const { return node_of(rank_); }
  int node_of(int rank) const { return placement_->node_of[static_cast<std::size_t>(rank)]; }
  /// Ascending; the first one leads the node.
  std::span<const int> ranks_of(int node) const {
    return placement_->ranks_of[static_cast<std::size_t>(node)];
  }

  int position() const { return position_of(rank_); }
  int position_of(int rank) const {
    return placement_->position_of[static_cast<std::size_t>(rank)];
  }
  /// All ranks in the order of their positions.
  std::span<const int> by_position() const { return placement_->by_position; }
  /// The position of a node's lowest rank; its other ranks have the next positions.
  int first_position(int node) const { return position_of(ranks_of(node)[0]); }

  /// "" if the name is not known.
  const std::string& host_of(int rank) const {
    return placement_->hosts[static_cast<std::size_t>(rank)];
  }
  /// "4 ranks on 2 nodes", "4 ranks on 2 nodes (3 + 1)", "1 rank".
  std::string to_string() const;

 private:
  /// What all ranks see alike. Of thousands of ranks in one process it would be the most memory.
  struct Placement {
    std::vector<int> node_of;
    std::vector<std::vector<int>> ranks_of;
    std::vector<int> by_position;
    std::vector<int> position_of;
    std::vector<std::string> hosts;
  };

  int rank_;
  std::shared_ptr<const Placement> placement_;
};

/// Leaves [begin, end) of a tree.
struct LeafRange {
  int begin = 0;
  int end = 0;
  friend bool operator==(const LeafRange&, const LeafRange&) = default;
};

/// The fewest complete subtrees of the summation tree over all positions (core/base/reduce_tree.h)
/// that make up the run of `node`, in order. One for nodes of equally many ranks, a power of two.
std::vector<LeafRange> subtrees_of(const Topology& topology, int node);

}  // namespace lockstep
