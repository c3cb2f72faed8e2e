// Ranks watch each other (watch/judge.h). No rank watches the last one that runs, so `lockstep
// launch` does, by these rules:
//
//   some rank runs, here or as reported elsewhere       no action: the ranks watch each other
//   all ranks that are left here are stopped            ended after distributed.stall_abort_s
//   no rank is left here, none reported elsewhere       mpirun is ended after kMpirunPatience
//   every rank of the job is stopped                    the job was suspended: not ended
//
// Times are of a steady clock. If judge() was not called for Judge::kSuspended, all counts start
// again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "watch/judge.h"
#include "watch/other_nodes.h"

namespace lockstep {

/// The ranks of a job at one moment, as `lockstep launch` sees them.
struct RanksInSight {
  int size = 0;                       ///< of the job; 0 before the first rank has started here
  std::vector<RankReport> here;       ///< on this host, still running
  std::vector<RankReport> elsewhere;  ///< as last reported; kUnknown: no recent report
};

class LastRanks {
 public:
  /// Seconds. mpirun ends sooner after its ranks, unless it waits for a host that it cannot reach,
  /// or for itself (libpmix 4.2: a rank died while it connected to mpirun).
  static constexpr double kMpirunPatience = 10;

  /// `other_hosts`: of the job, besides this one.
  explicit LastRanks(const WatchLimits& limits, std::vector<std::string> other_hosts = {})
      : limits_(limits), other_hosts_(std::move(other_hosts)) {}

  /// Must be called often. `now_ns` never decreases.
  Judgement judge(std::int64_t now_ns, const RanksInSight& ranks);

 private:
  void remember(const RanksInSight& ranks);
  double seconds_since(std::int64_t ns) const;
  Judgement judge_stopped(const RanksInSight& ranks);
  std::string describe_missing(const RanksInSight& ranks) const;

  WatchLimits limits_;
  std::vector<std::string> other_hosts_;
  std::int64_t now_ns_ = 0;
  std::int64_t looked_ns_ = -1;
  std::int64_t ran_ns_ = 0;                 ///< the last time that some rank was known to run
  std::map<int, std::int64_t> stopped_ns_;  ///< by rank, for ranks stopped here: since when
  std::set<int> seen_here_;
  int size_ = 0;
  bool warned_ = false;
};

/// Reads the state of the ranks that this mpirun has started here from /proc, and that of the ranks
/// on other hosts from `others`.
RanksInSight look_at_ranks(pid_t mpirun, std::int64_t now_ns, OtherNodes& others);

}  // namespace lockstep
