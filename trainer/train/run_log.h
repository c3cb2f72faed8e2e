// The record that a run leaves of its steps and evaluations: lines of the console, metrics.jsonl,
// TensorBoard files. All ranks have one and make the same calls; the master writes.
#pragma once

#include <cstdint>
#include <optional>

#include "trainer/config/batch_plan.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/optimizers/optimizer_step.h"
#include "trainer/telemetry/step_log.h"
#include "trainer/train/run_spec.h"

namespace lockstep {

class RunLog {
 public:
  /// `resumed_step`: -1 for a new run. The references outlive it.
  RunLog(RankRuntime& runtime, const RunSpec& spec, std::int64_t resumed_step)
      : runtime_(runtime), spec_(spec), resumed_step_(resumed_step) {}

  /// The steps that follow.
  struct Steps {
    std::int64_t first_step = 0;
    std::int64_t total_steps = 0;
    std::int64_t steps_per_epoch = 1;
    std::int64_t tokens_per_step = 0;  ///< of a global batch; 0 if samples have none
    BatchPlan batch = {};
  };
  void begin(const Steps& steps);
  /// `step`: updates made with this one.
  void add_step(std::int64_t step, double learning_rate, const StepSummary& summary);
  /// `metrics` by their full names ("eval/loss"). Before begin() nothing is logged.
  void add_evaluation(std::int64_t step, const MetricValues& metrics);
  /// A text by its name ("sample"), on the master. Before begin() nothing is logged.
  void add_text(std::int64_t step, const std::string& name, const std::string& text);
  /// Puts on file what was added.
  void flush();
  /// No more steps come: also says what would use more of the cores' time.
  void end();

 private:
  double epoch_of(std::int64_t step) const {
    return static_cast<double>(step) / static_cast<double>(steps_per_epoch_);
  }

  RankRuntime& runtime_;
  const RunSpec& spec_;
  std::int64_t resumed_step_;
  std::int64_t steps_per_epoch_ = 1;
  CoreLayout layout_;
  std::optional<Telemetry> telemetry_;  ///< on the master
  std::optional<StepLog> step_log_;     ///< since begin()
};

}  // namespace lockstep
