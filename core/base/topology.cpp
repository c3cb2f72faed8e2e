#include "core/base/topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/reduce_tree.h"

namespace lockstep {
namespace {

/// Adds the intersection of [begin, end) with the subtree of `leaves` leaves at `first`.
void add_subtrees(LeafRange run, int first, int leaves, std::vector<LeafRange>& out) {
  if (first >= run.end || first + leaves <= run.begin) return;
  if (first >= run.begin && first + leaves <= run.end) {
    out.push_back({first, first + leaves});
    return;
  }
  const int left = static_cast<int>(tree_split(leaves));
  add_subtrees(run, first, left, out);
  add_subtrees(run, first + left, leaves - left, out);
}

}  // namespace

Topology::Topology(int rank, std::span<const int> node_ids, std::vector<std::string> hosts)
    : rank_(rank), hosts_(std::move(hosts)) {
  LS_USER_CHECK(rank >= 0 && rank < static_cast<int>(node_ids.size()),
                "rank {} in a job of {} ranks", rank, node_ids.size());
  hosts_.resize(node_ids.size());
  std::vector<int> seen;  // the ids in the order of their lowest ranks
  for (const int id : node_ids) {
    const auto found = std::find(seen.begin(), seen.end(), id);
    const auto node = static_cast<std::size_t>(found - seen.begin());
    if (found == seen.end()) {
      seen.push_back(id);
      ranks_of_.emplace_back();
    }
    ranks_of_[node].push_back(size());
    node_of_.push_back(static_cast<int>(node));
  }
  position_of_.resize(node_of_.size());
  for (const std::vector<int>& ranks : ranks_of_)
    for (const int r : ranks) {
      position_of_[static_cast<std::size_t>(r)] = static_cast<int>(by_position_.size());
      by_position_.push_back(r);
    }
}

std::string Topology::to_string() const {
  if (size() == 1) return "1 rank";
  if (nodes() == 1) return fmt::format("{} ranks on 1 node", size());
  std::vector<std::size_t> counts;
  counts.reserve(ranks_of_.size());
  for (const std::vector<int>& ranks : ranks_of_) counts.push_back(ranks.size());
  const bool equal = std::all_of(counts.begin(), counts.end(),
                                 [&](std::size_t count) { return count == counts[0]; });
  std::string out = fmt::format("{} ranks on {} nodes", size(), nodes());
  return equal ? out : out + fmt::format(" ({})", fmt::join(counts, " + "));
}

std::vector<LeafRange> subtrees_of(const Topology& topology, int node) {
  const int begin = topology.first_position(node);
  const int end = begin + static_cast<int>(topology.ranks_of(node).size());
  std::vector<LeafRange> out;
  add_subtrees({begin, end}, 0, topology.size(), out);
  return out;
}

}  // namespace lockstep
