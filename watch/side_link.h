// A node's connection to the hubs of its job (side_hub.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "watch/side_hub.h"

namespace lockstep {

class SideLink {
 public:
  /// `hubs`: for each hub its addresses, "10.0.0.1:4711,[fd00::7]:4711", of which each is tried
  /// in turn, again and again, on a thread of its own. Addresses that do not parse are left out.
  SideLink(const std::vector<std::string>& hubs, const SideToken& token);
  /// Waits for a moment until what was published is sent, where a hub is connected.
  ~SideLink();
  SideLink(const SideLink&) = delete;
  SideLink& operator=(const SideLink&) = delete;

  /// Sends bytes (at most NodeFrame::kBytes) to all other nodes, by every hub that is connected.
  void publish(std::string bytes);
  /// What other nodes have published since the last call, in the order of arrival; often twice.
  std::vector<std::string> take_heard();

  /// Whether some hub was ever heard of.
  bool was_connected() const;
  /// Seconds since some hub was last heard of, or since the start.
  double silence() const;

 private:
  class Client;
  std::unique_ptr<Client> client_;
};

}  // namespace lockstep
