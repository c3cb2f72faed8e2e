// When a run ends: after the steps that were asked for, by early stopping, or because a signal
// asked a rank to stop. All ranks end at the same step.
#pragma once

#include <cstdint>
#include <string_view>

#include "trainer/train/early_stopping.h"
#include "trainer/train/run_spec.h"
#include "watch/watch.h"

namespace lockstep {

/// Why a run ended, or that it is still running.
enum class RunEnd : std::uint8_t {
  kRunning,
  kFinished,
  kEarlyStopping,
  kPreempted,  ///< and saved
  kUnsaved,    ///< asked to stop, without time to save; a message was logged
};

/// For the run's history: "finished", "early stopping", "preempted", "not saved"; "stopped" if the
/// program left its loop while the run was kRunning.
std::string_view name_of(RunEnd end);

class RunStops {
 public:
  /// The references outlive it.
  RunStops(Watch& watch, const RunSpec& spec, TrainerState& progress)
      : watch_(watch),
        saves_(spec.folder.has_value()),
        early_stopping_(spec.options.early_stopping, progress, spec.settings_of) {}

  EarlyStopping& early_stopping() { return early_stopping_; }
  const EarlyStopping& early_stopping() const { return early_stopping_; }

  /// Steps are asked for, up to `total_steps`.
  void begin(std::int64_t total_steps);
  /// A step was queued. Before, no rank can have finished one, so that there was nothing to save.
  void step_queued() { watch_.on_stop(saves_ ? OnStop::kSave : OnStop::kLeave); }
  /// No save can be requested any more.
  void leave() { watch_.on_stop(OnStop::kLeave); }
  /// The run ended here, and its state is on file if it `saved`.
  void end(bool saved);

  /// Whether this rank was asked to stop; the others do not know it yet.
  bool requested() const { return watch_.stop_requested(); }
  /// All ranks know that one was asked to stop.
  void agree() { agreed_ = true; }
  bool agreed() const { return agreed_; }
  /// Whether no step follows the first `step` ones.
  bool ends_at(std::int64_t step) const {
    return step >= total_steps_ || agreed_ || early_stopping_.ends();
  }
  RunEnd reason() const { return end_; }

 private:
  Watch& watch_;
  bool saves_;
  EarlyStopping early_stopping_;
  std::int64_t total_steps_ = 0;
  bool agreed_ = false;
  RunEnd end_ = RunEnd::kRunning;
};

}  // namespace lockstep
