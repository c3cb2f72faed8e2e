// The clocks of several hosts on one timeline. All ranks of a host read one CLOCK_MONOTONIC; those
// of two hosts differ by an offset that drifts. A rank leaves an exchange after all ranks have
// entered it: so each round bounds the offset from both sides, by the round trip of the messages,
// and the fastest rounds give the tightest bounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/clock.h"
#include "core/runtime/communicator.h"

namespace lockstep {

/// The offset of a node's clock from that of rank 0's node.
struct ClockOffset {
  std::int64_t at_ns = 0;           ///< when it was measured, by the node's clock
  std::int64_t offset_ns = 0;       ///< node's clock minus rank 0's
  std::int64_t uncertainty_ns = 0;  ///< maximum error in either direction
};

/// The times when a rank entered an exchange and left it, by its own clock.
struct ExchangeTimes {
  std::int64_t entered_ns = 0;
  std::int64_t left_ns = 0;
};

/// Computes the offset from the times of the same exchanges on a rank of a node and on rank 0's.
ClockOffset bound_offset(std::span<const ExchangeTimes> rank, std::span<const ExchangeTimes> zero);

/// Collective, called while no other collective is in progress: a few dozen exchanges. Immediate
/// and exact if there is one node.
ClockOffset compare_clocks(Communicator& communicator, const Clock& clock);

/// Converts a node's time to that of rank 0's node: linear between two comparisons, and beyond
/// them.
class NodeClock {
 public:
  NodeClock() = default;
  NodeClock(const ClockOffset& begin, const ClockOffset& end) : begin_(begin), end_(end) {}

  std::int64_t on_timeline(std::int64_t ns) const;
  const ClockOffset& begin() const { return begin_; }
  const ClockOffset& end() const { return end_; }
  std::int64_t uncertainty_ns() const;  ///< the larger of the two comparisons'

 private:
  ClockOffset begin_;
  ClockOffset end_;
};

}  // namespace lockstep
