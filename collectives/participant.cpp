#include "collectives/participant.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "collectives/algorithms.h"
#include "collectives/backoff.h"
#include "collectives/handshake.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

std::vector<int> all_ranks(const Topology& topology) {
  std::vector<int> out(static_cast<std::size_t>(topology.size()));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

std::vector<int> copy_of(std::span<const int> ranks) {
  return {ranks.begin(), ranks.end()};
}

}  // namespace

Participant::Participant(Transport& transport, const ParticipantOptions& options,
                         const std::function<void()>& interrupt)
    : transport_(transport),
      by_rank_(transport, all_ranks(transport.topology()), interrupt),
      by_position_(transport, copy_of(transport.topology().by_position()), interrupt) {
  exchange_handshakes(options);
  share_memory(options.shared_memory, interrupt);
  header_exchange_.emplace(transport, arena_ == nullptr ? nullptr : &arena_->flags(), interrupt);
  if (arena_ == nullptr) return;
  lanes_ = lane_groups(transport, interrupt);
  subtrees_ = node_subtrees(transport.topology(), options.fixed_order);
}

void Participant::exchange_handshakes(const ParticipantOptions& options) {
  Handshake handshake;
  handshake.first.rank = transport_.topology().rank();
  handshake.first.shared_memory = static_cast<std::uint32_t>(options.shared_memory);
  handshake.first.fixed_order = options.fixed_order ? 1 : 0;
  handshake.first.build = options.build;
  tree_add(by_rank_, handshake);
  require_same_handshake(handshake, transport_.topology());
}

// Sums over several nodes go through each node's memory; this is faster if a node has several
// ranks.
void Participant::share_memory(SharedMemoryUse use, const std::function<void()>& interrupt) {
  const Topology& topology = transport_.topology();
  const bool required = use == SharedMemoryUse::kRequired;
  if (use == SharedMemoryUse::kNever || topology.size() == 1) return;
  LS_USER_CHECK(!required || topology.nodes() == 1,
                "distributed.allreduce is shm, but the job has {}: memory is shared within a node "
                "only; auto uses it there, and messages between the nodes",
                topology.to_string());
  if (topology.nodes() == topology.size()) return;
  std::size_t lanes = 0;
  for (int node = 0; node < topology.nodes(); ++node)
    lanes = std::max(lanes, topology.ranks_of(node).size());
  const std::span<const int> on_node = topology.ranks_of(topology.node());
  std::string problem;
  arena_ = SharedArena::connect(Group(transport_, copy_of(on_node), interrupt), by_rank_,
                                static_cast<int>(lanes), may_spin(static_cast<int>(on_node.size())),
                                problem);
  LS_USER_CHECK(arena_ != nullptr || !required,
                "the ranks cannot share memory (distributed.allreduce: shm): {}", problem);
}

void Participant::progress(const CollectiveRequest& r, const SharedRegion* region) {
  const std::int64_t bytes = r.count * static_cast<std::int64_t>(size_of(r.dtype));
  switch (r.kind) {
    case CollectiveKind::kAllReduce:
      if (region == nullptr) {
        all_reduce(by_position_, r.dtype, r.data, r.count, received_);
      } else if (const auto offset = static_cast<std::size_t>(r.data - region->data());
                 transport_.topology().nodes() == 1) {
        sum_on_node(*region, r.dtype, offset, r.count);
      } else {
        sum_over_nodes(*region, lanes_, subtrees_, r.dtype, offset, r.count, sums_);
      }
      return;
    case CollectiveKind::kReduceScatter:
      reduce_scatter(by_position_, r.dtype, r.data, r.count, received_);
      return;
    case CollectiveKind::kAllGather: all_gather(by_rank_, r.data, bytes); return;
    case CollectiveKind::kBroadcast: broadcast(by_rank_, r.data, bytes, r.root); return;
    case CollectiveKind::kExchange:
    case CollectiveKind::kAgree: return;
  }
}

std::vector<std::string> Participant::exchange(const std::string& mine) {
  return gather_strings(by_rank_, mine);
}

}  // namespace lockstep
