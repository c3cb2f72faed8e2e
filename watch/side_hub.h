// The meeting point of a job's nodes besides MPI, whose messages move only while a rank calls MPI.
// Each node sends its frame here once a second, and receives those of all others, with empty ones
// in between, so that a silent hub is a dead or unreachable one. `lockstep launch` runs one hub for
// a job of several hosts; without it, one rank of each of the first two nodes runs one.
//
// side_protocol.h says how nodes and hubs know each other. What a stranger takes of the process
// that runs a hub is bounded:
//   connections  kStrangers that have not said hello: the oldest makes room for the next
//   time         kHelloPatience until it has said hello, or it is disconnected
//   descriptors  none of the last kSetAside that the process may open: saves and logs need them
//   cpu          kBurst connections at once, and then kPerSecond; others wait in the kernel, and
//   who
//                has said hello does not count
//   memory       a hello; and for a node one frame, and kWaitingFrames that it is slow to take
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "watch/side_protocol.h"

namespace lockstep {

class SideHub {
 public:
  static constexpr std::size_t kStrangers = 64;
  static constexpr std::chrono::milliseconds kHelloPatience{500};
  static constexpr unsigned kSetAside = 64;  ///< or a quarter of a low limit
  static constexpr int kBurst = 512;
  static constexpr int kPerSecond = 200;
  static constexpr std::size_t kWaitingFrames = 256;

  /// Listens on a free port of each of these addresses of this host ("10.0.0.1", "fd00::7"), and of
  /// 127.0.0.1 for this host's own processes, on its own thread. An address that this host does
  /// not have (any more) is left out. Error kPeer if it cannot listen at all.
  SideHub(const SideToken& token, const std::vector<std::string>& addresses);
  ~SideHub();
  SideHub(const SideHub&) = delete;
  SideHub& operator=(const SideHub&) = delete;

  /// "10.0.0.1:4711,[fd00::7]:4712": where other nodes can reach it, as in LOCKSTEP_WATCH_ADDRESS.
  const std::string& addresses() const;
  /// "127.0.0.1:4713".
  const std::string& inner_address() const;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace lockstep
