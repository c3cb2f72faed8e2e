// Compares the headers of all ranks (header.h) before the data of a collective moves, so that ranks
// that drifted apart are found at the first collective that does not match.
//
// Ranks of a node post their headers on its flags. Between nodes the leaders send a summary of
// their node's headers, one message for each pair of nodes; beyond kMaxDirectPeers nodes they
// combine it over a tree. Only if headers differ are all of them sent, so that every rank reports
// it in the same words.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collectives/group.h"
#include "collectives/header.h"
#include "collectives/shared_arena.h"

namespace lockstep {

/// What all ranks together say of a collective; the same on all of them.
struct CollectiveVerdict {
  std::optional<Error> failure;         ///< see describe_failure
  std::optional<std::string> mismatch;  ///< see describe_mismatch
  bool digests_differ = false;          ///< of headers that otherwise match
  std::int64_t latest_virtual_ns = 0;   ///< of all ranks
};

class HeaderExchange {
 public:
  /// Up to this many nodes (or ranks that share no memory) exchange summaries directly.
  static constexpr int kMaxDirectPeers = 8;

  /// `flags`: of this node; null if ranks share no memory. References outlive it.
  HeaderExchange(Transport& transport, SharedFlags* flags, const std::function<void()>& interrupt);

  /// Whether a comparison needs messages between ranks.
  bool needs_messages() const { return flags_ == nullptr || nodes_ > 1; }

  /// Posts this rank's header of the next collective to its node before its turn. False if there is
  /// no free slot yet. Not concurrently with itself.
  bool post_early(const CollectiveHeader& mine);

  /// All ranks call it for the same collectives in the same order. `interrupt` is called during
  /// waits for the node.
  CollectiveVerdict compare(const CollectiveHeader& mine, const std::function<void()>& interrupt);

 private:
  struct Summary;
  std::vector<CollectiveHeader> headers_on_node(const CollectiveHeader& mine,
                                                const std::function<void()>& interrupt);
  CollectiveVerdict compare_between_peers(const std::vector<CollectiveHeader>& mine);
  static Summary summary_of_all(const Group& peers, const Summary& mine);

  const Topology& topology_;
  SharedFlags* flags_;
  int nodes_;
  std::optional<Group> peers_;  ///< leaders, or all ranks; null if this rank is not one
};

}  // namespace lockstep
