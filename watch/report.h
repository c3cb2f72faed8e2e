// The known state of one rank at one moment: plain values, read from its page and from the kernel,
// or reported by another node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "watch/process_state.h"

namespace lockstep {

struct RankReport {
  int rank = 0;
  std::string host = {};
  std::int64_t pid = 0;
  ProcessState state = ProcessState::kRunning;

  std::uint64_t progress = 0;
  std::uint64_t beat = 0;  ///< of its own watch

  struct Lane {
    Phase phase = Phase::kStart;
    std::int64_t step = -1;
    std::string what = {};
  };
  Lane host_lane = {};
  Lane device_lane = {Phase::kIdle, -1, {}};

  bool waits_for_peers = false;
  std::string peer_wait = {};  ///< "all_reduce bucket 4"
  std::int64_t peer_step = -1;
  std::vector<std::string> foreign_calls = {};
  std::optional<int> exit_code = {};  ///< set if it has ended, or is about to
  double age_s = 0;                   ///< age of this report, for a rank of another node
  std::string verdict = {};           ///< why its watch ends the job; "" if it does not
  bool sees_other_nodes = false;      ///< its watch gets reports of the ranks of other nodes
};

/// Reads a mapped page; the caller fills in rank, host, pid and state.
RankReport read_page(const ActivityPage& page);

/// Where it was last seen: "at step 812 in forward and backward (dot_general)", "in MPI_Init".
std::string describe_place(const RankReport& report);

/// "rank 2 (host, 4711)"
std::string describe_rank(const RankReport& report);

/// "rank 5", "ranks 4 5", "ranks 1 2 3 4 5 6 7 8 and 91 more"
std::string list_ranks(const std::vector<int>& ranks);

}  // namespace lockstep
