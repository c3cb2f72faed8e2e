// The handshake of ranks, exchanged before any header: it shows whether all ranks use the same
// protocol and the same options. Its layout never changes, so that ranks of different builds can
// detect the difference.
#pragma once

#include <cstdint>
#include <type_traits>

#include "collectives/header.h"
#include "collectives/shared_arena.h"
#include "core/base/topology.h"

namespace lockstep {

struct Handshake {
  /// The message of one rank.
  struct Rank {
    std::uint32_t protocol = CollectiveHeader::kProtocol;
    std::int32_t rank = -1;
    std::uint32_t shared_memory = 0;  ///< SharedMemoryUse
    std::uint32_t fixed_order = 0;    ///< a bool
    std::uint64_t build = 0;          ///< of build_id(); for the error message, not compared here
  };
  Rank first;
  Rank other;  ///< the first that differs from `first`; rank -1 if none does

  /// Adds the combined handshake of later ranks.
  void add(const Handshake& later);
};
static_assert(sizeof(Handshake) == 48);
static_assert(std::is_trivially_copyable_v<Handshake>);

/// Checks the combined handshake of all ranks. If two ranks differ: error kUsage, the same on all
/// ranks, naming both with their hosts.
void require_same_handshake(const Handshake& all, const Topology& topology);

}  // namespace lockstep
