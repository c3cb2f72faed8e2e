#include "collectives/node_sum.h"

#include <algorithm>
#include <cstring>

#include "collectives/tree_sum.h"

namespace lockstep {
namespace {

/// A lane's part of a bucket as one run of elements: where they lie in the region, and this rank's
/// work on them. Operands are sums over subtrees of the node's ranks, computed on request.
class LaneAddends final : public Addends {
 public:
  LaneAddends(const SharedRegion& region, int lane, DType dtype, std::size_t offset,
              std::int64_t count, const std::vector<LeafRange>& subtrees, std::int64_t piece,
              Scratch& scratch)
      : region_(region), dtype_(dtype), subtrees_(subtrees), piece_(piece) {
    const std::size_t end = offset + static_cast<std::size_t>(count) * width();
    region.for_each_stripe(lane, offset, end, [&](std::size_t from, std::size_t to) {
      runs_.push_back({count_, from});
      count_ += static_cast<std::int64_t>((to - from) / width());
    });
    // The results of two pieces are alive at once: the one being summed, the one being gathered.
    const auto pieces = static_cast<std::int64_t>(subtrees.size()) + 2;
    memory_ = scratch.get(std::min(piece, count_) * pieces * static_cast<std::int64_t>(width()));
  }

  std::int64_t count() const { return count_; }

  const std::byte* part(int part, Slice elements) override {
    std::byte* out = memory_of(2 + part, elements);
    const LeafRange& subtree = subtrees_[static_cast<std::size_t>(part)];
    std::vector<const std::byte*> operands(static_cast<std::size_t>(subtree.end - subtree.begin));
    for_each_run(elements, [&](std::size_t offset, std::int64_t at, std::int64_t length) {
      for (std::size_t i = 0; i < operands.size(); ++i)
        operands[i] = region_.data_of(subtree.begin + static_cast<int>(i)) + offset;
      tree_sum(dtype_, operands, out + static_cast<std::size_t>(at) * width(), length);
    });
    return out;
  }

  std::byte* result(Slice elements) override {
    return memory_of(static_cast<int>(elements.begin / piece_ % 2), elements);
  }

  void store(Slice elements) override {
    const std::byte* from = result(elements);
    for_each_run(elements, [&](std::size_t offset, std::int64_t at, std::int64_t length) {
      std::memcpy(region_.data() + offset, from + static_cast<std::size_t>(at) * width(),
                  static_cast<std::size_t>(length) * width());
    });
  }

 private:
  struct Run {
    std::int64_t first;  ///< element of the lane
    std::size_t offset;  ///< bytes, in the region
  };

  std::size_t width() const { return size_of(dtype_); }

  /// The memory for these elements of a piece, in block number `block`.
  std::byte* memory_of(int block, Slice elements) const {
    const std::int64_t at = block * std::min(piece_, count_) + elements.begin % piece_;
    return memory_ + static_cast<std::size_t>(at) * width();
  }

  /// Calls visit(offset in the region, first element counted from elements.begin, elements).
  template <class F>
  void for_each_run(Slice elements, const F& visit) const {
    auto run = std::upper_bound(runs_.begin(), runs_.end(), elements.begin,
                                [](std::int64_t e, const Run& r) { return e < r.first; });
    --run;
    for (std::int64_t e = elements.begin; e < elements.end; ++run) {
      const std::int64_t end =
          std::min(elements.end, run + 1 == runs_.end() ? count_ : (run + 1)->first);
      visit(run->offset + static_cast<std::size_t>(e - run->first) * width(), e - elements.begin,
            end - e);
      e = end;
    }
  }

  const SharedRegion& region_;
  DType dtype_;
  const std::vector<LeafRange>& subtrees_;
  std::int64_t piece_;
  std::vector<Run> runs_;
  std::int64_t count_ = 0;
  std::byte* memory_;
};

}  // namespace

void sum_on_node(const SharedRegion& region, DType dtype, std::size_t offset, std::int64_t count) {
  const std::size_t width = size_of(dtype);
  const Lanes& lanes = region.lanes();
  std::vector<const std::byte*> operands(static_cast<std::size_t>(lanes.ranks));
  region.for_each_stripe(lanes.self, offset, offset + static_cast<std::size_t>(count) * width,
                         [&](std::size_t from, std::size_t to) {
                           for (std::size_t i = 0; i < operands.size(); ++i)
                             operands[i] = region.data_of(static_cast<int>(i)) + from;
                           tree_sum(dtype, operands, region.data() + from,
                                    static_cast<std::int64_t>((to - from) / width));
                         });
}

std::vector<LaneGroup> lane_groups(Transport& transport, const std::function<void()>& interrupt) {
  const Topology& topology = transport.topology();
  std::size_t lanes = 0;
  for (int node = 0; node < topology.nodes(); ++node)
    lanes = std::max(lanes, topology.ranks_of(node).size());
  std::vector<LaneGroup> out;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::vector<int> ranks;
    for (int node = 0; node < topology.nodes(); ++node) {
      const std::span<const int> on_node = topology.ranks_of(node);
      ranks.push_back(on_node[lane % on_node.size()]);
    }
    if (ranks[static_cast<std::size_t>(topology.node())] == topology.rank())
      out.push_back({static_cast<int>(lane), Group(transport, std::move(ranks), interrupt)});
  }
  return out;
}

NodeSubtrees node_subtrees(const Topology& topology, bool fixed_order) {
  NodeSubtrees out;
  for (int node = 0; node < topology.nodes(); ++node) {
    const int first = topology.first_position(node);
    const int ranks = static_cast<int>(topology.ranks_of(node).size());
    std::vector<LeafRange> subtrees = {{first, first + ranks}};
    if (fixed_order) subtrees = subtrees_of(topology, node);
    out.leaves.emplace_back();
    for (const LeafRange& s : subtrees) {
      out.leaves.back().push_back(fixed_order ? s.end - s.begin : 1);
      if (node == topology.node()) out.own.push_back({s.begin - first, s.end - first});
    }
  }
  return out;
}

void sum_over_nodes(const SharedRegion& region, const std::vector<LaneGroup>& lanes,
                    const NodeSubtrees& subtrees, DType dtype, std::size_t offset,
                    std::int64_t count, SumScratch& scratch) {
  for (const LaneGroup& lane : lanes) {
    LaneAddends addends(region, lane.lane, dtype, offset, count, subtrees.own,
                        piece_elements(lane.group.size(), dtype), scratch.lane);
    all_reduce(lane.group, subtrees.leaves, dtype, addends.count(), addends, scratch.received);
  }
}

}  // namespace lockstep
