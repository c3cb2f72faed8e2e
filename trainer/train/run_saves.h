// The saves of a run: when one is made, when it may be written, and that no rank reports success
// before the master's file is there. All ranks have one and call it alike; the master writes.
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
    bool resumed = false;  ///< the state is that of a checkpoint
    /// See CheckpointWriter::Options.
    std::function<void(CheckpointState&)> make_start = {};
    bool reserve = true;  ///< make the staging memory now, in the background
  };
  /// The references must outlive it.
  RunSaves(const Options& options, TrainingState& state, RankRuntime& runtime);

  /// The step whose state was last saved or is about to be; -1: none.
  std::int64_t saved_step() const { return saved_step_; }
  /// Queues a snapshot of what the steps queued so far make, with the state's counters as they are
  /// now. The save before it must have been released.
  void save();
  /// What was saved last may be written, with what the state's counters know of it by now.
  void release();
  /// The run blew up, and the engine stands still: see CheckpointWriter. Collective: all ranks get
  /// the master's text.
  std::string go_back_to_good();
  /// Whether a save of this rank failed: the run has to end.
  bool failed() const { return writer_ && writer_->failed(); }
  /// Waits for the file, without a word about what went wrong.
  void wait();
  /// Waits for the master's file. Collective: its failure is an error on all ranks.
  void finish();
  /// Whether a state can still be saved before mpirun, which was interrupted, kills the ranks; says
  /// what is saved if not. Collective.
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
