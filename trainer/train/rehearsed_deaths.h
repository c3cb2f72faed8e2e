// Deaths of ranks that a run rehearses (device.simulate): a rank is really killed, and what follows
// is real, too. In virtual time are the death, the saves that were written by then, and when the
// job trains on: the run's journal (trainer/run/virtual_journal.h) knows, across restarts.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/virtual_time/disturbances.h"
#include "trainer/run/virtual_journal.h"
#include "trainer/train/run_spec.h"

namespace lockstep {

class RankRuntime;
class VirtualClock;

class RehearsedDeaths {
 public:
  /// Without deaths in the config it does nothing. Else collective: goes on in virtual time where
  /// the run's journal ends. Error kUsage for a run without a folder, or a damaged journal.
  RehearsedDeaths(RankRuntime& runtime, const RunSpec& spec, std::int64_t first_step);
  RehearsedDeaths(const RehearsedDeaths&) = delete;
  RehearsedDeaths& operator=(const RehearsedDeaths&) = delete;

  /// Whether a rank dies before this step. It has not died of it yet.
  bool is_due(std::int64_t step) const;
  /// Called on all ranks when all steps before it and all saves are finished. Ranks that die do not
  /// return. Checkpoints that were not yet written in virtual time are set aside.
  void die(std::int64_t step);
  /// The master has written a save, which took so many seconds here. From any thread.
  void add_save(std::int64_t step, double seconds);
  /// The run has ended after this many steps.
  void end(std::int64_t step);

 private:
  std::int64_t now_ns() const;
  void add(const JobEvent& event);
  void note_deaths(std::int64_t step, std::int64_t at_ns);
  std::int64_t origin_of(const std::vector<JobEvent>& events) const;

  RankRuntime& runtime_;
  RunFolder folder_;
  VirtualClock* clock_ = nullptr;  ///< null: the config has no deaths
  std::vector<Death> deaths_;      ///< that are still to come
  std::int64_t origin_ns_ = 0;     ///< of the clock, since the begin of the job
  std::mutex mutex_;
  std::vector<JobEvent> events_;  ///< on the master
};

}  // namespace lockstep
