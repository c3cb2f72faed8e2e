#include "core/base/topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/reduce_tree.h"

namespace lockstep {
namespace {

void check_rank(int rank, std::size_t ranks) {
  LS_USER_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < ranks, "rank {} in a job of {} ranks",
                rank, ranks);
}

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
    : rank_(rank) {
  const auto placement = std::make_shared<Placement>();
  auto& [node_of, ranks_of, by_position, position_of, hosts_of] = *placement;
  hosts_of = std::move(hosts);
  hosts_of.resize(node_ids.size());
  std::unordered_map<int, int> node_of_id;
  for (const int id : node_ids) {
    const auto [found, is_new] = node_of_id.try_emplace(id, static_cast<int>(ranks_of.size()));
    if (is_new) ranks_of.emplace_back();
    ranks_of[static_cast<std::size_t>(found->second)].push_back(static_cast<int>(node_of.size()));
    node_of.push_back(found->second);
  }
  position_of.resize(node_of.size());
  for (const std::vector<int>& ranks : ranks_of)
    for (const int r : ranks) {
      position_of[static_cast<std::size_t>(r)] = static_cast<int>(by_position.size());
      by_position.push_back(r);
    }
  check_rank(rank, node_of.size());
  placement_ = placement;
}

Topology Topology::seen_by(int rank) const {
  check_rank(rank, placement_->node_of.size());
  Topology out = *this;
  out.rank_ = rank;
  return out;
}

std::string Topology::to_string() const {
  if (size() == 1) return "1 rank";
  if (nodes() == 1) return fmt::format("{} ranks on 1 node", size());
  std::vector<std::size_t> counts;
  counts.reserve(placement_->ranks_of.size());
  for (const std::vector<int>& ranks : placement_->ranks_of) counts.push_back(ranks.size());
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
