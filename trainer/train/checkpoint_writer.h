// Saves checkpoints while training goes on. Only the master rank has a writer.
//
// A save has three parts. submit() queues a command of the device's stream, which copies the state
// into staging memory with all of the device's cores; the host does not wait for it, and the device
// pauses for the copy only. release() states that all steps before it are finished, their metrics
// are on file, and the other ranks' states are the same. Then a thread checks the copy, writes the
// file, verifies it and prunes older ones. One save is in progress at a time: the next submit()
// waits for the file of the previous one.
//
// A state with a non-finite value is not written. One whose largest |parameter| is above 1e4 times
// that of the last good save (and above 1e4) is suspect: it is written beside the checkpoints
// (checkpoint/commit.h) and does not count as one; training goes on.
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
#include "core/base/spans.h"
#include "core/engine/engine.h"
#include "trainer/settings/setting_name.h"
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
    SettingsOf settings_of = SettingsOf::kConfig;  ///< for messages
    double good_magnitude = 0;  ///< the largest |parameter| of the run's initial state
    /// Computes the tensors of the initial state again, into its argument; null: it needs no file.
    std::function<void(CheckpointState&)> make_start = {};
    Activity activity = {};  ///< reports what is written
    /// Called on the writer's thread: the state of this step is on file, which took so many
    /// seconds. May be null.
    std::function<void(std::int64_t, double)> on_saved = {};
    bool reserve = true;  ///< allocate the staging memory now, in the background
  };
  /// The references must outlive it.
  CheckpointWriter(Options options, TrainingState& state, SpanStream& spans, Log& log);
  /// Finishes a released save; drops a save that was only submitted.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Submits the state after all steps queued so far, with its counters as they are now.
  void submit(Engine& engine);
  /// Sets what is known by now about the submitted state: takes good_step, confirmation and losses.
  /// Has no effect if no save waits to be released.
  void set_judgement(const TrainerState& judged);
  /// Permits the submitted state to be written. Has no effect if no save waits to be released.
  void release();
  /// Waits for the released save. Returns why the last save wrote no checkpoint, if it failed.
  SaveProblem wait();
  /// Called when the run blew up and the engine is idle: makes the newest good checkpoint the
  /// newest one. Returns what was done, for a message; "" if there is no good checkpoint.
  std::string go_back_to_good();
  /// The duration of the last write, until its file was written and verified; 0 if there was none.
  double last_write_seconds() const;
  /// Whether a submitted state is not on file yet. It may also be dropped.
  bool is_writing() const;
  /// Whether a save failed, so that the run must end. Does not wait. A suspect is not a failure.
  bool failed() const;

  /// Host memory of the staging area in bytes.
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
  /// Saves the run's initial state if no good one is on file; `now`: the run's counters.
  void save_start(TrainerState now);
  bool has_file(std::int64_t step) const;
  void remove_other_suspects(const std::string& kept);
  /// The first tensor with a non-finite value, for messages; empty if there is none.
  std::string find_nonfinite() const;
  void await_idle(std::unique_lock<std::mutex>& lock) const;

  Options options_;
  TrainingState& state_;
  SpanStream& spans_;
  Log& log_;
  TrainerState start_;         ///< the counters that the run began with
  std::int64_t good_on_file_;  ///< the newest good step that has a file, or needs none
  CheckpointState staging_;  ///< used by the thread while reserving or released, else by the caller
  HostTensor state_finite_;
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
