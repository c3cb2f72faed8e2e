// The saves of a run: judges the states that were saved, decides when one may be written, and
// ensures that no rank reports success before the master's file is written. All ranks have one and
// make the same calls; the master writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trainer/job/rank_runtime.h"
#include "trainer/train/checkpoint_writer.h"
#include "trainer/train/run_spec.h"
#include "trainer/train/state_judge.h"

namespace lockstep {

class RehearsedDeaths;

class RunSaves {
 public:
  /// `resumed_from`: the checkpoint that the state was restored from, or empty. `deaths` learns of
  /// each save. The other arguments must outlive it.
  RunSaves(const RunSpec& spec, TrainingState& state, RankRuntime& runtime, RehearsedDeaths& deaths,
           const std::string& resumed_from);

  /// The step whose state was last saved or is about to be; -1: none.
  std::int64_t saved_step() const { return saved_step_; }
  /// Queues a snapshot of the state after all steps queued so far, with the state's counters as
  /// they are now. The previous save must have been released.
  void save();
  /// What is known of the run's states: a finished step, an evaluation of the current one.
  void add_step(const StepEvidence& step) { judge_.add_step(step); }
  void add_evaluation(double loss, bool is_best) { judge_.add_evaluation(step(), loss, is_best); }
  /// Judges the last save by that, and by the step after it, if there is one; logs a warning if
  /// several in a row are in doubt.
  void judge(const std::optional<StepEvidence>& next);
  /// Permits the last save to be written, with the judgement that the state's counters have by now.
  void release();
  /// Called when the run blew up and the engine is idle: see CheckpointWriter. Collective: all
  /// ranks get the master's text.
  std::string go_back_to_good();
  /// Whether a save of this rank failed, so that the run must end.
  bool failed() const { return writer_ && writer_->failed(); }
  /// Waits for the file, without reporting errors.
  void wait();
  /// Waits for the master's file. Collective: its failure is an error on all ranks.
  void finish();
  /// Whether a state can still be saved before an interrupted mpirun kills the ranks; if not, logs
  /// what is saved. Collective.
  bool has_time();

 private:
  std::int64_t step() const { return state_.progress.step; }
  void say_what_is_saved(bool slow);

  TrainingState& state_;
  RankRuntime& runtime_;
  Watch& watch_;
  SettingsOf settings_of_;  ///< for messages
  StateJudge judge_;
  std::int64_t saved_step_ = -1;
  std::optional<CheckpointWriter> writer_;  ///< on the master
};

}  // namespace lockstep
