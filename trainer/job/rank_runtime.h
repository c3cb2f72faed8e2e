// The objects of one rank, made in one place and passed down: clock, metrics, log, communicator,
// device, trace context and engine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/settings.h"
#include "core/base/spans.h"
#include "core/nn/module.h"
#include "core/trace/context.h"
#include "trainer/job/console_warnings.h"
#include "trainer/job/core_agreement.h"
#include "trainer/job/instruction_set.h"
#include "trainer/settings/config.h"
#include "trainer/telemetry/compilations_file.h"
#include "watch/watch.h"

namespace lockstep {

class Device;
class DeviceTimes;
class Engine;
class Profiling;
class VirtualClock;
struct CompileOptions;

/// Training keeps virtual time, too, if the config names a device to simulate.
enum class TimeKept : std::uint8_t { kReal, kVirtual };

class RankRuntime {
 public:
  /// Collective: the ranks agree on the instruction set. Rank 0 logs to the console. The watch,
  /// which must outlive the runtime, gets the config's limits and the log.
  RankRuntime(const Config& config, const Settings& settings,
              std::unique_ptr<Communicator> communicator, Watch& watch,
              TimeKept time = TimeKept::kReal);

  ~RankRuntime();
  RankRuntime(const RankRuntime&) = delete;
  RankRuntime& operator=(const RankRuntime&) = delete;

  /// The config that it was made with.
  const Config& config() const { return config_; }
  const Clock& clock() const { return clock_; }
  Metrics& metrics() { return metrics_; }
  SpanStream& spans() { return spans_; }
  Log& log() { return *log_; }
  Communicator& communicator() { return *communicator_; }
  ConsoleWarnings& console_warnings() { return console_warnings_; }
  Device& device() { return *device_; }
  TraceContext& context() { return context_; }
  Engine& engine() { return *engine_; }
  Watch& watch() { return watch_; }
  Activity activity() const { return watch_.activity(); }
  const InstructionSet& instruction_set() const { return instruction_set_; }
  bool is_master() const { return communicator_->is_master_ordinal(); }

  /// From now on also writes the log to <run_folder>/logs/rank-N.log, and the reasons of
  /// compilations to <run_folder>/compilations.jsonl; on nodes other than rank 0's to logs/.
  void log_to(const std::string& run_folder);

  /// Marks the module as trained until the result is destroyed. Error kUsage if a trainer already
  /// trains the module, or another part of its model: that trainer would continue with the values
  /// that the new one draws.
  std::shared_ptr<const void> claim_for_training(const Module& module);

  /// Passes warnings of this rank's caches also to rank 0's console.
  std::function<void(const std::string&)> warnings_to_console();

  /// Called on all ranks before each training step: all later work belongs to that step.
  void begin_step(std::int64_t step);

  /// Device memory that is set aside for batches of steps: a part of what report() tells.
  void set_batch_room(std::int64_t bytes);

  /// Waits for the device, then leaves the job together with the other ranks. The last call, except
  /// after an exception. Throws pending errors.
  void finish();

  /// Called after finish(): reports what was recompiled and why, and the profile that the config's
  /// profile section requests.
  void report() const;

 private:
  const Config& with_threads(ChosenThreads chosen);
  CompileOptions with_outlets(CompileOptions options, const Settings& settings);
  CompileOptions with_virtual_time(CompileOptions options, const Settings& settings, TimeKept time);

  Config config_;  ///< with the number of threads that device.threads: auto stands for
  Watch& watch_;
  SteadyClock clock_;
  Metrics metrics_{clock_};
  SpanStream spans_{clock_, metrics_};
  std::unique_ptr<Log> log_;
  // Destroyed last to first: no member may use a communicator or device that is destroyed.
  std::unique_ptr<Communicator> communicator_;
  ConsoleWarnings console_warnings_;
  std::string threads_text_;  ///< how the number of threads was chosen; empty: by the config
  InstructionSet instruction_set_;
  std::unique_ptr<DeviceTimes> device_times_;    ///< null: virtual time is not kept
  std::unique_ptr<VirtualClock> virtual_clock_;  ///< the same
  std::unique_ptr<Device> device_;
  TraceContext context_;
  std::string run_folder_;  ///< "" if there is none
  std::unique_ptr<Profiling> profiling_;
  std::unique_ptr<Engine> engine_;
  CompilationsFile compilations_;
  std::map<const ParameterSet*, std::weak_ptr<const void>> trained_;
};

/// "4 ranks on 2 nodes", and the cost of the placement if it has one.
std::string describe_placement(const Topology& topology, bool deterministic);

/// One line on the config's requests that `target` does not support; empty if there are none.
std::string describe_fallback(const Config& config, const Target& target);

/// The folder for compiled steps and hashes of files; empty: they are not kept.
std::string cache_folder(const Config& config, const Settings& settings);

/// distributed.stall_warn_s and the like.
WatchLimits watch_limits(const Config& config);

/// Watches the ranks of other nodes from now on if the launcher has a hub for them.
void join_hub_of_launcher(const Settings& settings, Watch& watch);

/// MPI, with shared memory as distributed.allreduce says, under a launcher; else a job of one rank.
/// It publishes its waits for other ranks, and the ranks of other nodes are watched.
std::unique_ptr<Communicator> make_communicator(const Config& config, const Settings& settings,
                                                Watch& watch);

}  // namespace lockstep
