// An ordered set of ranks that exchange messages. An algorithm (algorithms.h) is a free function
// over a group, and addresses members by their places in that order.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "collectives/transport.h"

namespace lockstep {

class Group {
 public:
  /// `ranks` are the members; this rank is one of them. `interrupt`: see Transport::finish; if it
  /// throws, the collective stays half-done. Both references must outlive the group.
  Group(Transport& transport, std::vector<int> ranks, const std::function<void()>& interrupt);

  int size() const { return static_cast<int>(ranks_.size()); }
  int self() const { return self_; }  ///< this rank's place
  int rank(int member) const { return ranks_[static_cast<std::size_t>(member)]; }

  /// See Transport::start_send and start_receive.
  void send(int to, std::span<const std::byte> bytes) const {
    transport_.start_send(rank(to), bytes);
  }
  void receive(int from, std::span<std::byte> bytes) const {
    transport_.start_receive(rank(from), bytes);
  }
  /// Waits until everything that was started has arrived.
  void finish() const { transport_.finish(interrupt_); }

  /// Calls visit(to, from) for size - 1 pairs of other members, in a staggered order, so that not
  /// all members send to the same one first.
  template <class F>
  void for_each_peer(const F& visit) const {
    for (int distance = 1; distance < size(); ++distance)
      visit((self_ + distance) % size(), (self_ - distance + size()) % size());
  }

 private:
  Transport& transport_;
  const std::function<void()>& interrupt_;
  std::vector<int> ranks_;
  int self_;
};

}  // namespace lockstep
