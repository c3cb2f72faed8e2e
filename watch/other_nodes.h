// The ranks of other nodes, as reported by their watches through the hubs.
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
  /// A rank without a report for this long is out of sight.
  static constexpr double kPatience = 5;

  /// `hubs`: see SideLink.
  OtherNodes(const std::vector<std::string>& hubs, const SideToken& token) : link_(hubs, token) {}

  /// Sends the reports of this node's ranks to the other nodes; call it at most once a second.
  void tell(const std::string& host, const std::vector<RankReport>& ranks);
  /// The last report of each of their ranks, by rank.
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
