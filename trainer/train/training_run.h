// A run in progress: feeds batches, records and queues steps, reads their results a few steps
// later, evaluates, saves, stops. Trainer (trainer.h) is its public interface; `lockstep train`
// also uses that.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include "trainer/job/rank_runtime.h"
#include "trainer/optimizers/schedule.h"
#include "trainer/train/data_loader.h"
#include "trainer/train/early_stopping.h"
#include "trainer/train/evaluate.h"
#include "trainer/train/nonfinite_policy.h"
#include "trainer/train/run_log.h"
#include "trainer/train/run_saves.h"
#include "trainer/train/run_spec.h"
#include "trainer/train/skipped_log.h"
#include "trainer/train/step_batches.h"
#include "trainer/train/step_plan.h"
#include "trainer/train/training_step.h"

namespace lockstep {

/// Why a run ended, or that it is still running.
enum class RunEnd : std::uint8_t {
  kRunning,
  kFinished,
  kEarlyStopping,
  kPreempted,  ///< and saved
  kUnsaved,    ///< asked to stop, without time to save; a message was logged
};

/// The numbers of a queued step, which are available later. Shared by the run and the user's
/// handle.
struct StepOutcome {
  std::int64_t number = 0;  ///< updates made with this one
  StepNumbers numbers;      ///< on the device until they are read
  std::optional<StepSummary> summary;

  bool is_ready() const { return summary.has_value(); }
  /// Waits. `name`: the name of the requested number in messages.
  const StepSummary& read(std::string_view name = "the numbers",
                          std::source_location where = std::source_location::current());
};

class TrainingRun {
 public:
  /// `state` must have values; `resumed_from`: the checkpoint that they are from, or empty.
  /// References outlive the run.
  TrainingRun(RankRuntime& runtime, TrainingState& state, RunSpec spec,
              const std::string& resumed_from);
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;
  ~TrainingRun();

  /// Feeds batches of `data` from now on, from the current step to `total_steps`.
  void begin(const DataLoader& data, StepPlan plan, std::int64_t total_steps);
  /// Ends the previous step (saves if a save is due) and waits for the next batch. Null at the end,
  /// when everything is saved: see end().
  const Batch* next();
  /// Queues the step of a batch: the one that next() returned, or one made of its fields.
  /// `lasting`: `loss` can still be called after this call returned. If `loss` throws, the batch
  /// can be passed again. `where`: the user's line.
  std::shared_ptr<StepOutcome> step(const Batch& batch, const LossFunction& loss, bool lasting,
                                    const std::source_location& where);
  /// Evaluates the current state; logged as <name>/<metric>; if `name` is "eval", compared with the
  /// best. Nothing if a rank was asked to stop: then next() ends the run.
  std::optional<Evaluation> evaluate(const DataLoader& data, const LossFunction& loss,
                                     const std::string& name,
                                     std::vector<std::shared_ptr<const Evaluator>> evaluators,
                                     const std::source_location& where);
  /// Error kUsage, which lists the existing metrics, if an evaluation will not have the metric of
  /// early stopping and keep_best. Evaluates one batch, unless the metric always exists; logs and
  /// judges nothing.
  void require_watched_metric(const DataLoader& data, const LossFunction& loss,
                              std::vector<std::shared_ptr<const Evaluator>> evaluators,
                              const std::source_location& where);
  /// Saves now and waits until the file is written.
  void save();
  /// Saves after all ranks agreed that one was asked to stop; called instead of next().
  void end_early();
  /// No more batches are needed.
  void stop_feeding();
  /// Called when the run ends with an exception: keeps the last good save.
  void keep_last_save();

  RunEnd end() const { return end_; }
  const RunSpec& spec() const { return spec_; }
  std::int64_t steps_done() const { return state_.progress.step; }
  std::int64_t steps_per_epoch() const { return plan_ ? plan_->sampler.steps_per_epoch() : 1; }
  /// Whether the current step was evaluated, perhaps before a resume.
  bool evaluated() const { return state_.progress.evaluated_step == steps_done(); }

 private:
  struct InFlight {
    std::int64_t step;
    UpdateOptions update;
    Batch batch;  ///< to run a non-finite step again
    std::shared_ptr<StepOutcome> outcome;
  };

  std::uint64_t seed() const { return spec_.options.seed; }
  void end_run();
  void finish_step();
  void tell_warnings();
  void check_finite(const InFlight& done, const StepSummary& summary);
  std::string name_nonfinite(const InFlight& done);
  [[noreturn]] void blow_up(const std::string& what);
  void finish_all();
  void drain();
  void rule_out_drift();
  [[noreturn]] void stop_at_bad_evaluation(const std::string& failure);
  EvaluateOptions evaluate_options(const DataLoader& data,
                                   std::vector<std::shared_ptr<const Evaluator>> evaluators,
                                   const std::source_location& where);
  void judge(const Evaluation& result);
  void save_now();
  void release_save(const std::optional<StepEvidence>& next = {});
  bool due(std::int64_t interval) const { return interval > 0 && steps_done() % interval == 0; }
  void compare_with_saved_data(const Dataset& data);
  std::int64_t first_micro_batch() const {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): begin() sets it first
    return plan_->batch.first_micro_batch(runtime_.communicator().topology().position());
  }

  RankRuntime& runtime_;
  TrainingState& state_;
  RunSpec spec_;
  Watch& watch_;
  Activity activity_;
  NonFinitePolicy nonfinite_;
  EarlyStopping early_stopping_;
  SkippedLog skipped_;
  RunSaves saves_;
  bool resumed_;
  std::int64_t first_step_;
  RunLog log_;

  // For the steps that begin() requested.
  std::int64_t total_steps_ = 0;
  std::optional<StepPlan> plan_;
  std::optional<Schedule> schedule_;
  StepInputs inputs_;
  std::unique_ptr<StepBatches> batches_;  ///< null: no step is requested

  std::optional<Batch> current_;        ///< that next() returned
  bool step_due_ = false;               ///< no step was made of `current_` yet
  const LossFunction* loss_ = nullptr;  ///< while step() runs
  LossFunction lasting_loss_;
  std::deque<InFlight> in_flight_;
  bool stop_agreed_ = false;
  bool warned_ = false;  ///< a rank has warnings for the console
  bool warned_of_loss_ = false;
  RunEnd end_ = RunEnd::kRunning;
  std::int64_t finished_step_ = -1;  ///< the last one whose update is known to be good
  bool blew_up_ = false;
};

}  // namespace lockstep
