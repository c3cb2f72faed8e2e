// Many ranks in one thread, with messages that take virtual time: the collectives' own algorithms
// (collectives/algorithms.h) run as they do between nodes, but for the network.
//
// Each rank is a fiber (fibers.h) with a Transport, on a node of its own. It runs until it waits in
// finish(), and continues when all its messages have arrived at the virtual time of
// fair_share_network.h. What a rank computes takes no virtual time. A message sets out when both
// ranks have started it (open_messages.h). All of it is deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <vector>

#include "bench/simulated_ranks/fair_share_network.h"
#include "collectives/transport.h"

namespace lockstep {

struct SimulatedCluster {
  int ranks = 1;
  LinkLimits links;
  /// Without data messages take as long, and the receiver's memory keeps what it has: so all ranks
  /// can share one buffer.
  bool data = true;
  /// Gets what ranks ask of their transports, a line each, in the order of each rank; or null:
  ///
  ///   cluster RANKS BYTES_PER_S LATENCY_NS    the first line
  ///   send RANK TO BYTES
  ///   receive RANK FROM BYTES
  ///   finish RANK                             all that the rank has started has arrived
  std::ostream* record = nullptr;
};

/// What one rank did.
struct RankTraffic {
  std::int64_t sent_bytes = 0;
  std::int64_t sent_messages = 0;
  std::int64_t end_ns = 0;  ///< when its body returned
};

struct SimulatedRun {
  std::int64_t ns = 0;               ///< when the last rank's body returned
  std::vector<RankTraffic> traffic;  ///< by rank
};

/// Runs body(transport) on each rank, from time 0 on. The first error of a rank ends all of them
/// and is thrown. If ranks wait for messages that no rank will start, this is the error kPeer that
/// names these ranks, and what each waits for. Error kUsage if there is no rank or no bandwidth.
SimulatedRun simulate(const SimulatedCluster& cluster, const std::function<void(Transport&)>& body);

}  // namespace lockstep
