// A node's connection to the hubs of its job (side_hub.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "watch/side_protocol.h"

namespace lockstep {

class SideLink {
 public:
  /// `hubs`: for each hub its addresses, "10.0.0.1:4711,[fd00::7]:4711". Each is tried in turn,
  /// repeatedly, on a separate thread. Addresses that do not parse are ignored.
  SideLink(const std::vector<std::string>& hubs, const SideToken& token);
  /// Waits briefly until published bytes are sent, if a hub is connected.
  ~SideLink();
  SideLink(const SideLink&) = delete;
  SideLink& operator=(const SideLink&) = delete;

  /// Sends bytes (at most NodeFrame::kBytes) to all other nodes, through every connected hub.
  void publish(std::string bytes);
  /// What other nodes have published since the last call, in order of arrival, often twice.
  std::vector<std::string> take_heard();

  /// Whether any hub has ever sent something.
  bool was_connected() const;
  /// Seconds since any hub last sent something, or since the start.
  double silence() const;

 private:
  class Client;
  std::unique_ptr<Client> client_;
};

}  // namespace lockstep
