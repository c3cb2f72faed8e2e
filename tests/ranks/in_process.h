// N ranks in one process, for tests: each rank is a thread of the caller with its own
// communicator. Messages are copied through mailboxes; headers, algorithms and the order of sums
// are the same as with MPI.
#pragma once

#include <memory>
#include <vector>

#include "collectives/shared_arena.h"
#include "core/runtime/communicator.h"

namespace lockstep {

struct InProcessOptions {
  SharedMemoryUse shared_memory = SharedMemoryUse::kNever;
  bool fixed_order = true;  ///< see ParticipantOptions
  /// Ranks a and b share a (simulated) node if node_ids[a] == node_ids[b]; empty: all share one.
  std::vector<int> node_ids = {};
};

/// Communicators of ranks 0 .. ranks - 1, each with its own communication thread. abort() on one
/// fails the pending and future operations of all. Destroying one before its finish() fails the
/// ranks that still wait for it. Shared memory is shared between the ranks' threads as it is
/// between processes. Error kUsage if ranks < 1, or if the number of node ids differs from `ranks`.
std::vector<std::unique_ptr<Communicator>> make_in_process_communicators(
    int ranks, const InProcessOptions& options = {});

}  // namespace lockstep
