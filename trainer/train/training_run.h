// A run in progress: feeds batches, records and queues steps, reads their results a few steps
// later, evaluates, saves, stops. Trainer (trainer.h) is its public interface; `lockstep train`
// also uses that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "trainer/job/rank_runtime.h"
#include "trainer/train/data_loader.h"
#include "trainer/train/evaluate.h"
#include "trainer/train/nonfinite_evaluations.h"
#include "trainer/train/nonfinite_steps.h"
#include "trainer/train/plateau.h"
#include "trainer/train/rehearsed_deaths.h"
#include "trainer/train/requested_steps.h"
#include "trainer/train/run_log.h"
#include "trainer/train/run_saves.h"
#include "trainer/train/run_spec.h"
#include "trainer/train/run_stops.h"
#include "trainer/train/skipped_log.h"
#include "trainer/train/step_batches.h"
#include "trainer/train/steps_in_flight.h"

namespace lockstep {

class TrainingRun {
 public:
  /// `state` must have values; `resumed_from`: the checkpoint that they are from, or empty.
  /// References outlive the run.
  TrainingRun(RankRuntime& runtime, TrainingState& state, RunSpec spec,
              const std::string& resumed_from);
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

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
  /// Logs the text that `make` returns for the current state, which it must not change; called on
  /// the master only. Collective.
  void add_text(const std::string& name, const std::function<std::string()>& make);
  /// Saves now and waits until the file is written.
  void save();
  /// Saves after all ranks agreed that one was asked to stop; called instead of next().
  void end_early();
  /// No more batches are needed.
  void stop_feeding();
  /// Called when the run ends with an exception: keeps the last good save.
  void keep_last_save();

  RunEnd end() const { return stops_.reason(); }
  const RunSpec& spec() const { return spec_; }
  std::int64_t steps_done() const { return state_.progress.step; }
  /// Whether the current step was evaluated, perhaps before a resume.
  bool evaluated() const { return state_.progress.evaluated_step == steps_done(); }

 private:
  bool is_step_due() const { return batches_ != nullptr && batches_->is_due(); }
  void compare_with_saved_data(const Dataset& data);
  void tell_warnings();
  /// Of the update in 0-based `step`. Error kUsage for a rate of the program that is none.
  double learning_rate(std::int64_t step) const;
  /// Sets the counters of the position in the data and of the schedule.
  void note_position();
  UpdateOptions next_update();
  StepNumbers record(const Batch& batch, const LossFunction& loss, const UpdateOptions& update,
                     const std::source_location& where);
  void finish_step();
  void finish_up_to(std::int64_t step);
  void finish_all();
  void end_run();

  EvaluateOptions evaluate_options(const DataLoader& data,
                                   std::vector<std::shared_ptr<const Evaluator>> evaluators,
                                   const std::source_location& where);
  void judge(const Evaluation& result);
  [[noreturn]] void stop_at_bad_evaluation(const std::string& failure);

  void save_now();
  void release_save(const std::optional<StepEvidence>& next = {});

  RankRuntime& runtime_;
  TrainingState& state_;
  RunSpec spec_;
  RunStops stops_;
  Plateau plateau_;
  SkippedLog skipped_;
  RehearsedDeaths deaths_;
  RunSaves saves_;
  bool resumed_;
  std::int64_t first_step_;
  RunLog log_;
  std::optional<RequestedSteps> requested_;  ///< since begin()
  std::unique_ptr<StepBatches> batches_;     ///< null: no step is requested
  StepsInFlight in_flight_;
  NonFiniteSteps nonfinite_;
  NonfiniteEvaluations nonfinite_evaluations_;
  std::int64_t finished_step_ = -1;  ///< the last one whose update is known to be good
  bool warned_ = false;              ///< a rank has warnings for the console
  bool warned_of_loss_ = false;
};

}  // namespace lockstep
