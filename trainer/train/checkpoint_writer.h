// Saves checkpoints while training goes on. The master rank has one.
//
// A save has three parts. submit() queues a command of the device's stream, which copies the state
// into staging memory with all of the device's cores; the host does not wait for it, and the device
// stands still for the copy alone. release() says that all steps before it are finished, their
// metrics on file, and the other ranks' states the same. Then a thread looks at the copy, writes
// the file, verifies it and prunes others. One save is under way at a time: the next submit() waits
// for the file of the one before.
//
// A state with a value that is not finite is not written. One whose largest |parameter| is above
// 1e4 times that of the last good save (and above 1e4) is suspect: it is written beside the
// checkpoints (checkpoint/commit.h) and does not count as one; training goes on.
//
// Any other state is written as a checkpoint, in doubt or not (trainer/train/state_judge.h). While
// the newest good state is that which the run began with, and has no file in the folder, a save in
// doubt is followed by one of it: a good checkpoint is there before a bad one can be the only one.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/retention.h"
#include "checkpoint/state.h"
#include "core/base/activity.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/engine/engine.h"
#include "trainer/train/training_state.h"

namespace lockstep {

/// Why a state was not saved as a checkpoint.
struct SaveProblem {
  ErrorKind kind = ErrorKind::kCheckpoint;
  std::string text;  ///< empty: there is none
};

class CheckpointWriter {
 public:
  struct Options {
    std::string folder;
    Retention retention;
    std::string config_yaml;
    double good_magnitude = 0;  ///< the largest |parameter| of the state that the run began with
    /// Makes the tensors of that state again, in those of its argument; null: it needs no file.
    std::function<void(CheckpointState&)> make_start = {};
    Activity activity = {};  ///< told of what is written
    bool reserve = true;     ///< make the staging memory now, in the background
  };
  /// The references must outlive it.
  CheckpointWriter(Options options, TrainingState& state, SpanStream& spans, Log& log);
  /// Finishes what was released; what was only submitted is dropped.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// The state that the steps queued so far make, with its counters as they are now.
  void submit(Engine& engine);
  /// What is known by now of what was submitted: good_step, confirmation and losses are taken.
  /// Without effect if nothing waits to be released.
  void set_judgement(const TrainerState& judged);
  /// What was submitted may be written. Without effect if nothing waits for it.
  void release();
  /// Waits for what was released. Returns why the last save gave no checkpoint, if so.
  SaveProblem wait();
  /// The run blew up, and the engine stands still: the newest good checkpoint becomes the newest.
  /// Returns what was done, for a message; nothing if there is none.
  std::string go_back_to_good();
  /// What the last write took, until its file was there and verified; 0 if there was none.
  double last_write_seconds() const;
  /// Whether a state that was submitted is not on file yet, and perhaps never will be.
  bool is_writing() const;
  /// Whether a save failed: the run has to end. Does not wait. A suspect is no failure.
  bool failed() const;

  /// Host memory that staging takes.
  static std::int64_t staging_bytes(TrainingState& state);

 private:
  enum class Phase : std::uint8_t { kIdle, kReserving, kSubmitted, kReleased };
  void run();
  void reserve();
  /// Its place in the staging memory.
  HostTensor& staged(const StateTensor& tensor);
  SaveProblem write();
  void save(double magnitude);
  SaveProblem save_suspect(double magnitude);
  /// The state that the run began with, if no good one is on file; `now`: of the run.
  void save_start(TrainerState now);
  bool has_file(std::int64_t step) const;
  void remove_other_suspects(const std::string& kept);
  /// The first tensor that is not finite, for messages; empty for none.
  std::string find_nonfinite() const;
  void await_idle(std::unique_lock<std::mutex>& lock) const;

  Options options_;
  TrainingState& state_;
  SpanStream& spans_;
  Log& log_;
  TrainerState start_;         ///< the counters that the run began with
  std::int64_t good_on_file_;  ///< the newest good step that has a file, or needs none
  CheckpointState staging_;    ///< of the thread while reserving or released, else of the caller
  HostTensor sound_;
  EventPtr copied_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Phase phase_ = Phase::kIdle;
  bool stop_ = false;
  SaveProblem problem_;  ///< of the last save
  double last_write_seconds_ = 0;
  std::thread thread_;
};

}  // namespace lockstep
