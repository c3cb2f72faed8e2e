// The training loop: feeds batches, records and hands over steps, reads their results a few steps
// later, evaluates, saves, stops.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "trainer/checkpoint_writer.h"
#include "trainer/config/batch_plan.h"
#include "trainer/data_source.h"
#include "trainer/data_watch.h"
#include "trainer/device_feed.h"
#include "trainer/schedule.h"
#include "trainer/session.h"
#include "trainer/skip_limit.h"
#include "trainer/step_log.h"
#include "trainer/training_step.h"

namespace lockstep {

/// Why a loop ended.
enum class LoopEnd : std::uint8_t {
  kFinished,
  kEarlyStopping,
  kPreempted,  ///< and saved
  kUnsaved,    ///< asked to stop, without the time to save, and said so
};

/// Everything a loop works with. References outlive it.
struct LoopParts {
  const Config& config;
  Session& session;
  TrainingState& state;
  LossFunction loss;
  const DataSource& data;
  const BatchPlan& batch;
  StepSampler sampler;
  std::int64_t total_steps;
  std::string checkpoint_folder;
  Telemetry* telemetry;             ///< null on ranks other than 0
  bool resumed = false;             ///< the state is that of a checkpoint in checkpoint_folder
  DataWatch* data_watch = nullptr;  ///< null: the ranks have the same data
};

class TrainingLoop {
 public:
  explicit TrainingLoop(LoopParts parts);
  /// From state.progress.step to the end; the last step is evaluated and saved.
  LoopEnd run();

 private:
  struct InFlight {
    std::int64_t step;
    UpdateOptions update;
    Batch batch;  ///< for a second look at a step that was not finite
    StepNumbers result;
  };
  LoopEnd run_steps();
  void start_step(std::int64_t step, DeviceFeed& feed);
  void finish_step();
  void check_finite(const InFlight& done, const StepSummary& summary);
  [[noreturn]] void stop_at_nonfinite(const InFlight& done, const std::string& what);
  std::string name_nonfinite(const InFlight& done);
  void finish_all();
  void drain();
  void rule_out_drift();
  void evaluate_now();
  void save_now();
  void release_save();
  void finish_saves();
  bool has_time_to_save();
  void say_what_is_saved(bool slow);
  void keep_last_save();
  double epoch() const;
  bool due(std::int64_t interval) const { return interval > 0 && step() % interval == 0; }
  std::int64_t step() const { return parts_.state.progress.step; }
  LoaderOptions loader_options() const;

  LoopParts parts_;
  Schedule schedule_;
  StepInputs inputs_;
  Watch& watch_;
  Activity activity_;
  StepLog step_log_;
  SkipLimit skip_limit_;
  std::deque<InFlight> in_flight_;
  bool stop_agreed_ = false;
  bool stop_early_ = false;
  std::int64_t finished_step_ = -1;  ///< whose update is known to be good
  std::int64_t saved_step_ = -1;
  std::optional<CheckpointWriter> writer_;  ///< on the master
};

}  // namespace lockstep
