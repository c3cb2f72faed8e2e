// The saves of a run: decides when one is made and when it may be written, and ensures that no rank
// reports success before the master's file is written. All ranks have one and make the same calls;
// the master writes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "trainer/job/rank_runtime.h"
#include "trainer/train/checkpoint_writer.h"

namespace lockstep {

class RunSaves {
 public:
  struct Options {
    std::string folder;  ///< of checkpoints; empty: nothing is written
    Retention retention;
    std::string config_text;
    bool resumed = false;  ///< the state was restored from a checkpoint
    /// See CheckpointWriter::Options.
    std::function<void(CheckpointState&)> make_start = {};
    bool reserve = true;  ///< allocate the staging memory now, in the background
  };
  /// The references must outlive it.
  RunSaves(const Options& options, TrainingState& state, RankRuntime& runtime);

  /// The step whose state was last saved or is about to be; -1: none.
  std::int64_t saved_step() const { return saved_step_; }
  /// Queues a snapshot of the state after all steps queued so far, with the state's counters as
  /// they are now. The previous save must have been released.
  void save();
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
  std::int64_t saved_step_ = -1;
  std::optional<CheckpointWriter> writer_;  ///< on the master
};

}  // namespace lockstep
