// Decides which ranks are stuck. A rank is stuck if its progress counter stands still while another
// rank, or its own loop, waits for it. A rank that waits for others is not stuck, whatever its
// counter does, unless its process is halted. The decision depends only on the reports and times
// that the judge is given.
//
//   counter moves                                     never stuck, however long a phase takes
//   process stopped, traced; its watch does not run   stuck after abort_s, if another rank waits
//                                                     for it, or for another to compile
//   process gone without an exit code                 reported at once, fatal after kLostGrace
//   in a foreign call; before the config is read      stuck after foreign_abort_s
//   waits for peers                                   not stuck; all ranks are, if all of them wait
//   anything else                                     stuck after abort_s, if another rank waits,
//                                                     or if the phase is one of the loop
//
// Times count from the last progress that this judge saw. A judge that was itself not called for
// kSuspended starts all counts anew: the machine or the job was suspended.
//
// Once this process was asked to stop, all counts start anew, and a rank is stuck after kStopping,
// in a foreign call after kStoppingForeign, in code of the program as well. Only a rank that writes
// a checkpoint has the time of before.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "watch/limits.h"
#include "watch/report.h"

namespace lockstep {

struct Judgement {
  std::vector<std::string> warnings;  ///< new ones, complete sentences
  std::string fatal;                  ///< why the job must end; empty: it goes on
};

/// The input of one judgement.
struct Scene {
  std::vector<RankReport> ranks;  ///< the visible ranks, this one among them; by rank
  std::vector<int> unseen;        ///< the other ranks of the job
  bool others_see_them = false;   ///< another watch of this node gets reports of the unseen
};

class Judge {
 public:
  static constexpr double kSuspended = 2;  ///< seconds
  static constexpr double kLostGrace = 5;  ///< seconds in which the launcher may end the job

  /// New limits, from now on.
  void set_limits(const WatchLimits& limits) { limits_ = limits; }
  const WatchLimits& limits() const { return limits_; }

  static constexpr double kStopping = 10;         ///< seconds
  static constexpr double kStoppingForeign = 30;  ///< seconds

  /// This process was asked to stop.
  void begin_stop() { is_stopping_ = starts_anew_ = true; }

  /// Call it about every second, or more often. `now_ns` never decreases.
  Judgement judge(std::int64_t now_ns, const Scene& scene);

 private:
  struct Memory {
    std::int64_t pid = 0;
    std::uint64_t progress = 0;
    std::uint64_t beat = 0;
    std::int64_t moved_ns = 0;  ///< when progress last changed
    std::int64_t beat_ns = 0;
    std::int64_t gone_ns = -1;
    bool warned = false;
  };
  struct Fault {
    const RankReport* rank;
    double seconds;
    double limit;
    std::string what;  ///< "is stopped"
    const char* key;   ///< of the limit
  };
  struct Limit {
    double seconds;
    const char* key;
  };
  Limit limit_of(const RankReport& report, bool foreign) const;
  void remember(std::int64_t now_ns, const Scene& scene);
  double idle(const RankReport& report) const;     ///< seconds without progress
  double silence(const RankReport& report) const;  ///< seconds without a beat
  bool is_frozen(const RankReport& report) const;  ///< the process runs, but not its watch
  std::vector<const RankReport*> waiters_for(const RankReport& report, const Scene& scene) const;
  std::string waiters_of(const RankReport& report, const Scene& scene) const;
  std::vector<Fault> find_faults(const Scene& scene) const;
  void judge_deadlock(const Scene& scene, Judgement& out);

  WatchLimits limits_;
  std::map<int, Memory> memory_;
  std::int64_t now_ns_ = 0;
  std::int64_t last_look_ns_ = -1;
  bool is_stopping_ = false;
  bool starts_anew_ = false;
  bool warned_of_deadlock_ = false;
  bool lost_reported_ = false;
};

}  // namespace lockstep
