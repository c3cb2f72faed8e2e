// <run>/virtual_time.json: what happened to a job in virtual time, over the restarts behind
// rehearsed deaths (device.simulate). Only such jobs have one; checkpoints know nothing of it.
//   {"format": "lockstep virtual time", "version": 1,
//    "events": [{"event": "began", "step": 0, "at_ns": 0},
//               {"event": "saved", "step": 4, "state_ns": 81, "pause_ns": 3, "at_ns": 90},
//               {"event": "died", "step": 6, "rank": 2, "at_ns": 123},
//               {"event": "began", "step": 4, "at_ns": 223}, {"event": "ended", ...}]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

struct JobEvent {
  enum class Kind : std::uint8_t { kBegan, kSaved, kDied, kEnded };
  Kind kind = Kind::kBegan;
  std::int64_t step = 0;
  std::int64_t at_ns = 0;     ///< since the begin of the job; of a save: when it was written
  std::int64_t state_ns = 0;  ///< kSaved: when the state was
  std::int64_t pause_ns = 0;  ///< kSaved: for which the device paused
  int rank = 0;               ///< kDied
};
std::string_view name_of(JobEvent::Kind kind);

std::string virtual_journal_path(const std::string& run_folder);

/// Empty if there is no file. Error kUsage, naming the file, for one that write_job_events did not
/// write.
std::vector<JobEvent> read_job_events(const std::string& run_folder);
/// Replaces the file. Error kUsage if the disk fails.
void write_job_events(const std::string& run_folder, const std::vector<JobEvent>& events);

/// Where the virtual time of a job went, which has ended.
struct JobTimes {
  int deaths = 0;
  std::int64_t total_ns = 0;  ///< the sum of what follows
  std::int64_t kept_ns = 0;   ///< steps that were kept, with the evaluations between them
  std::int64_t saves_ns = 0;  ///< for which they paused
  std::int64_t again_ns = 0;  ///< steps, and saves, that a death lost
  std::int64_t down_ns = 0;   ///< from deaths to training on
};
JobTimes times_of(const std::vector<JobEvent>& events);

/// "virtual time of the job, with 1 death: 12.3 s; steps that were kept 81.2 % (goodput), ..."
std::string to_text(const JobTimes& times);

}  // namespace lockstep
