// Ranks watch each other (watch/judge.h). The last of them to live has nobody left who waits for
// it but `lockstep launch`, which judges so:
//
//   some rank runs, here or, as heard of, elsewhere     all is well, or the ranks' own matter
//   all that are left here are stopped                  ended after distributed.stall_abort_s
//   none is left here, none is heard of elsewhere       mpirun is given kMpirunPatience
//   every rank of the job is stopped                    somebody suspended the job: no end
//
// Times are of a steady clock. A judge that was itself not called for Judge::kSuspended starts all
// counts anew.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "watch/judge.h"
#include "watch/other_nodes.h"

namespace lockstep {

/// The ranks of a job at one moment, as launch sees them.
struct RanksInSight {
  int size = 0;                       ///< of the job; 0 before the first rank is here
  std::vector<RankReport> here;       ///< on this host, not ended
  std::vector<RankReport> elsewhere;  ///< as last heard of; kUnknown: not of late
};

class LastRanks {
 public:
  /// Seconds. mpirun ends sooner after its ranks, unless it waits for a host that it cannot reach,
  /// or for itself (libpmix 4.2: a rank died while it introduced itself to mpirun).
  static constexpr double kMpirunPatience = 10;

  explicit LastRanks(const WatchLimits& limits) : limits_(limits) {}

  /// To be called often. `now_ns` never decreases.
  Judgement judge(std::int64_t now_ns, const RanksInSight& ranks);

 private:
  void remember(const RanksInSight& ranks);
  double seconds_since(std::int64_t ns) const;
  Judgement judge_stopped(const RanksInSight& ranks);
  std::string describe_missing(const RanksInSight& ranks) const;

  WatchLimits limits_;
  std::int64_t now_ns_ = 0;
  std::int64_t looked_ns_ = -1;
  std::int64_t ran_ns_ = 0;                 ///< when some rank was last known to run
  std::map<int, std::int64_t> stopped_ns_;  ///< since when, by rank: those that are stopped here
  std::set<int> seen_here_;
  int size_ = 0;
  bool warned_ = false;
};

/// What /proc tells of the ranks that this mpirun has started here, and others of those elsewhere.
RanksInSight look_at_ranks(pid_t mpirun, std::int64_t now_ns, OtherNodes& others);

}  // namespace lockstep
