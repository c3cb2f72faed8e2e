// The meeting point of a job's nodes besides MPI, whose messages move only while a rank calls MPI.
// Each node sends its frame here once a second, and receives those of all others. `lockstep launch`
// runs one hub; without it, one rank of each of the first two nodes runs one.
//
// A connection begins with the job's token; a client without it is disconnected. Then come
// messages: a length (u32, little-endian, at most NodeFrame::kBytes) and that many bytes. The hub
// also sends empty ones, so that a silent hub is a dead or unreachable one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace lockstep {

using SideToken = std::array<std::uint8_t, 16>;

/// Makes a token from the system's random numbers.
SideToken make_side_token();
/// 32 hexadecimal digits, as in LOCKSTEP_WATCH_TOKEN.
std::string to_hex(const SideToken& token);
/// Error kUsage for anything else.
SideToken parse_side_token(const std::string& hex);

class SideHub {
 public:
  /// Listens on a free port of all interfaces, on its own thread. Error kPeer if it cannot.
  explicit SideHub(const SideToken& token);
  ~SideHub();
  SideHub(const SideHub&) = delete;
  SideHub& operator=(const SideHub&) = delete;

  /// "10.0.0.1:4711,[fd00::7]:4711": where other nodes can reach it, as in LOCKSTEP_WATCH_ADDRESS.
  /// `interfaces` as in OpenMPI's btl_tcp_if_include: names ("eth0") or networks ("10.0.0.0/8",
  /// "fd00::/8"), separated by commas; empty: all but loopback, which is used if there is no other.
  std::string addresses(const std::string& interfaces) const;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace lockstep
