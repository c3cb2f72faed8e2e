// A communicator that simulates a slower network: shows on one machine how a run overlaps
// communication with compute on a given interconnect.
#pragma once

#include <cstdint>
#include <memory>

#include "core/runtime/communicator.h"

namespace lockstep {

/// Bytes that a bandwidth-optimal algorithm (ring or direct exchange) sends from each of P ranks,
/// for a collective of `count` elements (see CollectiveKind) whose elements have `width` bytes,
/// with N = count * width:
///   all_reduce      2 (P - 1) / P * N
///   reduce_scatter  (P - 1) * N      (N is one slice of P)
///   all_gather      (P - 1) * N      (likewise)
///   broadcast       N, pipelined; 0 for P = 1
///   exchange        (P - 1) * N      (N is the longest string)
///   agree           0
double wire_bytes(CollectiveKind kind, std::int64_t count, std::size_t width, int ranks);

/// Marks each collective's event latency + wire_bytes / bandwidth later than `inner` completes it,
/// as if all collectives of a rank used one link, one after the other in the order of submission:
/// the delay begins when both the inner collective and the delay before it are over. Submission
/// does not block. exchange() keeps its place in the order and returns with the same delay. A
/// failed collective fails without delay, but in order. Units: 1e-6 s; 1e9 bytes / s. Error kUsage
/// if latency_us < 0 or bandwidth_gb_s <= 0.
std::unique_ptr<Communicator> make_delaying_communicator(std::unique_ptr<Communicator> inner,
                                                         double latency_us, double bandwidth_gb_s);

}  // namespace lockstep
