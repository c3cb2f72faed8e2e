// The ranks of other nodes, as their watches tell of them through the hubs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "watch/report.h"
#include "watch/side_link.h"

namespace lockstep {

class OtherNodes {
 public:
  /// A rank that was not heard of for this long is out of sight.
  static constexpr double kPatience = 5;

  /// `hubs`: see SideLink.
  OtherNodes(const std::vector<std::string>& hubs, const SideToken& token) : link_(hubs, token) {}

  /// Tells the other nodes of this node's ranks; more often than once a second is too often.
  void tell(const std::string& host, const std::vector<RankReport>& ranks);
  /// Their ranks, by rank, as last heard of.
  std::vector<RankReport> read(std::int64_t now_ns);

  bool was_connected() const { return link_.was_connected(); }
  double silence() const { return link_.silence(); }

 private:
  struct Heard {
    RankReport report;
    std::int64_t at_ns = 0;
  };
  SideLink link_;
  std::map<int, Heard> heard_;
};

}  // namespace lockstep
