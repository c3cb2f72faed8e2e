// What ranks tell each other first, before any header: whether they understand each other at all,
// and whether they mean to talk in the same way. Its layout never changes, so that ranks of
// different builds can tell that they are.
#pragma once

#include <cstdint>
#include <type_traits>

#include "collectives/header.h"
#include "collectives/shared_arena.h"
#include "core/base/topology.h"

namespace lockstep {

struct Greeting {
  /// What one rank says.
  struct Rank {
    std::uint32_t protocol = CollectiveHeader::kProtocol;
    std::int32_t rank = -1;
    std::uint32_t shared_memory = 0;  ///< SharedMemoryUse
    std::uint32_t fixed_order = 0;    ///< a bool
    std::uint64_t build = 0;          ///< of build_id(); for the message, not compared here
  };
  Rank first;
  Rank other;  ///< the first that differs from `first`; rank -1: none does

  /// `later`: of ranks behind those of this one.
  void add(const Greeting& later);
};
static_assert(sizeof(Greeting) == 48);
static_assert(std::is_trivially_copyable_v<Greeting>);

/// Given what all ranks together say: error kUsage, the same on all of them, if two differ, naming
/// both with their hosts.
void require_same_greeting(const Greeting& all, const Topology& topology);

}  // namespace lockstep
