// Messages that one of the two ranks has started and the other one has not. A message is complete,
// and sets out, when both have: what MPI calls a rendezvous, which needs no memory in between.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/simulated_ranks/message.h"

namespace lockstep {

class OpenMessages {
 public:
  /// Memory: 4 ranks^2 bytes, and 32 for each open message.
  explicit OpenMessages(int ranks);

  /// A rank sends or receives; the message, if the other one has already started it. Messages from
  /// one rank to another are matched in the order of their starts. Error kInternal if the lengths
  /// differ.
  std::optional<SimulatedMessage> send(int from, int to, std::span<const std::byte> bytes);
  std::optional<SimulatedMessage> receive(int from, int to, std::span<std::byte> bytes);

  /// An open message that this rank has started: "64 bytes from rank 3", "64 bytes to rank 3"; ""
  /// if there is none.
  std::string of_rank(int rank) const;

 private:
  /// One side's part of a message.
  struct Half {
    std::int64_t bytes = 0;
    const std::byte* source = nullptr;  ///< of a send
    std::byte* target = nullptr;        ///< of a receive
    std::uint32_t next = kNone;         ///< of the same two ranks, or free
  };
  static constexpr std::uint32_t kNone = ~0U;

  std::uint32_t& first(int from, int to) {
    return first_[static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to)];
  }
  const Half* first_half(int from, int to) const;
  std::optional<SimulatedMessage> match(int from, int to, const Half& mine);
  void append(std::uint32_t& first, const Half& half);

  std::size_t ranks_;
  std::vector<std::uint32_t> first_;  ///< of each pair: the oldest half, all of one side
  std::vector<Half> halves_;
  std::uint32_t free_ = kNone;
};

}  // namespace lockstep
