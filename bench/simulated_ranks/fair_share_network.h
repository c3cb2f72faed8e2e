// Messages on their way through a simulated network, in virtual time.
//
// Each rank has a link of its own to one switch that never is the bottleneck: B bytes/s in each
// direction, independent of one another. A message takes the latency L, in which it uses no
// bandwidth, and then flows at a rate that is its max-min fair share: of the links that all
// messages flow through, the one with the least bandwidth per message fixes the rates of its own,
// then the next one those that are left, and so on (progressive filling; Bertsekas and Gallager,
// "Data Networks", 1992, 6.5.2). This is the model CM02 of SimGrid without its TCP window, which
// bench/peers/simgrid_messages.py runs on the same messages.
//
// Time is in whole nanoseconds: an arrival is rounded up once, from when the rates last changed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "bench/simulated_ranks/message.h"

namespace lockstep {

struct LinkLimits {
  double bytes_per_s = 0;       ///< in each direction, > 0
  std::int64_t latency_ns = 0;  ///< of a message from rank to rank, >= 0
};

class FairShareNetwork {
 public:
  FairShareNetwork(int ranks, const LinkLimits& limits);

  /// A message between two different ranks sets out now.
  void set_out(const SimulatedMessage& message);

  /// Moves time to the next arrival and calls arrived(message) for all messages that arrive then,
  /// in the order in which they set out. False if none is on its way. The time it takes here grows
  /// with the messages on their way, times the different rates among them: equal messages between
  /// all ranks are cheap.
  bool advance(const std::function<void(const SimulatedMessage&)>& arrived);

  std::int64_t now_ns() const { return now_ns_; }

 private:
  struct Flow {
    SimulatedMessage message;
    double left = 0;  ///< bytes
    double rate = 0;  ///< bytes/ns
  };
  /// Messages that have set out at one time.
  struct Batch {
    std::int64_t flows_at_ns = 0;
    std::vector<Flow> flows;
  };
  struct Link {
    double free = 0;   ///< bytes/ns that no rate uses yet
    int messages = 0;  ///< that have no rate yet
    bool full = false;
  };

  Link& up(const Flow& flow) { return links_[static_cast<std::size_t>(flow.message.from) * 2]; }
  Link& down(const Flow& flow) { return links_[static_cast<std::size_t>(flow.message.to) * 2 + 1]; }
  void begin_flows();
  void set_rates();
  /// The rates of the messages at the links with the least bandwidth per message; their number.
  std::size_t fill_links();
  std::int64_t next_arrival_ns() const;

  double bytes_per_ns_;
  std::int64_t latency_ns_;
  std::int64_t now_ns_ = 0;
  std::deque<Batch> setting_out_;
  std::vector<Flow> flowing_;
  std::vector<Flow> spare_;  ///< memory for the next batch; fresh pages would cost time
  std::vector<Link> links_;  ///< of each rank: up, down
};

}  // namespace lockstep
