// What a run does about steps that are not finite: it warns of those that it leaves out, and ends
// with the first value that is not finite by its name, and with its newest good state on file.
#pragma once

#include <string>

#include "trainer/task/loss.h"
#include "trainer/train/nonfinite_policy.h"

namespace lockstep {

class RankRuntime;
class RunSaves;
class StepsInFlight;
struct QueuedStep;
struct RequestedSteps;
struct RunSpec;
struct TrainingState;

/// The loss of the last step, as long as it can be called.
class LastLoss {
 public:
  /// A step of `loss`, until the end of this object; if `lasting`, until the next step.
  class Use {
   public:
    Use(LastLoss& last, const LossFunction& loss, bool lasting) : last_(last) {
      last.lasting_ = lasting ? loss : LossFunction();
      last.now_ = &loss;
    }
    ~Use() { last_.now_ = nullptr; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    LastLoss& last_;
  };

  /// Null if it no longer exists.
  const LossFunction* find() const {
    return now_ != nullptr ? now_ : lasting_ ? &lasting_ : nullptr;
  }

 private:
  const LossFunction* now_ = nullptr;
  LossFunction lasting_;
};

class NonFiniteSteps {
 public:
  /// The references outlive it.
  NonFiniteSteps(RankRuntime& runtime, TrainingState& state, const RunSpec& spec,
                 StepsInFlight& in_flight, RunSaves& saves);

  /// UpdateOptions::stop_at_nonfinite.
  bool stops() const { return policy_.stops(); }
  /// To record a step again.
  LastLoss& loss() { return loss_; }
  /// Adds a finished step. Error kNonFinite if the run ends with it. `made_steps`: the run has
  /// finished a step before, else it saves nothing, because it starts again from the same state.
  void add(const QueuedStep& done, const RequestedSteps& requested, bool made_steps);
  /// Whether the run ended so.
  bool ended() const { return ended_; }

 private:
  void rule_out_drift();
  std::string name_value(const QueuedStep& done, const RequestedSteps& requested);

  RankRuntime& runtime_;
  TrainingState& state_;
  const RunSpec& spec_;
  StepsInFlight& in_flight_;
  RunSaves& saves_;
  NonFinitePolicy policy_;
  LastLoss loss_;
  bool ended_ = false;
};

}  // namespace lockstep
