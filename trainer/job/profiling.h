// Measures a run beyond its metrics, as set in the config's profile section, and reports that, and
// the run's cuts, at its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/log.h"
#include "core/ir/machine_limits.h"
#include "core/observe/bucket_times.h"
#include "core/observe/ledger.h"
#include "trainer/settings/config.h"
#include "trainer/statistics/rank_profile.h"
#include "trainer/timeline/step_trace.h"

namespace lockstep {

class Device;
class DeviceTimes;
class Engine;
class VirtualClock;

/// What keeps a run's virtual time; null if it keeps none.
struct VirtualTimeKeepers {
  const DeviceTimes* device = nullptr;
  VirtualClock* clock = nullptr;
};

class Profiling {
 public:
  /// Listens to the engine's device from now on. All references but the engine must outlive it; the
  /// engine must be destroyed before it. `limits`, of this machine, is called only if they are
  /// needed.
  Profiling(const ProfileConfig& config, Engine& engine, SpanStream& spans,
            Communicator& communicator, const std::function<MachineLimits()>& limits,
            VirtualTimeKeepers virtual_time, Log& log);
  ~Profiling();
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

  /// begin_step() is called before each step, on all ranks finish() when all have run: see
  /// StepTrace. finish() compares the clocks of hosts, too, if there is a ledger.
  void begin_step(std::int64_t step, const std::string& run_folder) {
    if (trace_) trace_->begin_step(step, run_folder);
  }
  void finish();

  /// Device memory that is set aside for batches of steps.
  void set_batch_room(std::int64_t bytes) { batch_room_ = std::max(batch_room_, bytes); }

  /// Called on each rank when the device has run everything: prints the requested reports, and
  /// writes to the run's folder, unless that is empty, a profile of each rank, the master's record
  /// of the program that ran most, and its cuts.
  void report(const std::string& run_folder, Log& log) const;

 private:
  RankProfile profile_with(const Ledger& ledger) const;
  void write_program(const std::string& run_folder, Log& log) const;

  ProfileConfig config_;
  const Engine& engine_;  ///< for report() only: it is destroyed before this
  Device& device_;
  SpanStream& spans_;
  Communicator& communicator_;
  VirtualTimeKeepers virtual_time_;
  MachineLimits limits_;  ///< if there is a ledger
  std::optional<Ledger> ledger_;
  BucketTimes bucket_times_;             ///< listens if there is a ledger
  std::optional<WallClock> wall_clock_;  ///< of this host
  std::int64_t batch_room_ = 0;          ///< bytes
  std::optional<StepTrace> trace_;
};

}  // namespace lockstep
