// The clocks of several hosts on one timeline. All ranks of a host read one CLOCK_MONOTONIC; those
// of two hosts differ by an offset that drifts. Who leaves an exchange does so after everybody has
// entered it: each round bounds the offset from both sides, by the round trip of the messages, and
// the quickest rounds bound it best.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/clock.h"
#include "core/runtime/communicator.h"

namespace lockstep {

/// How a node's clock stands to that of rank 0's node.
struct ClockOffset {
  std::int64_t at_ns = 0;           ///< by the node's clock
  std::int64_t offset_ns = 0;       ///< what it shows more
  std::int64_t uncertainty_ns = 0;  ///< at most so much off, either way
};

/// When a rank entered an exchange and left it, by its own clock.
struct ExchangeTimes {
  std::int64_t entered_ns = 0;
  std::int64_t left_ns = 0;
};

/// From the same exchanges as two ranks saw them, of a node and of rank 0's.
ClockOffset bound_offset(std::span<const ExchangeTimes> rank, std::span<const ExchangeTimes> zero);

/// Called by all ranks while no collective is under way: a few dozen exchanges. At once and exact
/// where there is one node.
ClockOffset compare_clocks(Communicator& communicator, const Clock& clock);

/// From a node's time to that of rank 0's node: linear between two comparisons, and beyond them.
class NodeClock {
 public:
  NodeClock() = default;
  NodeClock(const ClockOffset& begin, const ClockOffset& end) : begin_(begin), end_(end) {}

  std::int64_t on_timeline(std::int64_t ns) const;
  const ClockOffset& begin() const { return begin_; }
  const ClockOffset& end() const { return end_; }
  std::int64_t uncertainty_ns() const;  ///< of the worse comparison

 private:
  ClockOffset begin_;
  ClockOffset end_;
};

}  // namespace lockstep
