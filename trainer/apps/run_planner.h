// Plans the programs of a run: its steps are recorded and compiled, but nothing runs and no tensor
// gets memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/engine/compile.h"
#include "trainer/apps/run_memory.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/task/data_source.h"
#include "trainer/train/step_plan.h"

namespace lockstep {

class Registry;

class RunPlanner {
 public:
  /// Plans with an engine of its own, so that programs are neither counted nor kept. The data is
  /// that of all configs that are planned.
  RunPlanner(const Registry& registry, DataSource data, CompileOptions options,
             const DeviceOptions& device);
  ~RunPlanner();

  /// Errors of the model, and of steps that cannot be split.
  PlannedRun plan(const Config& given);

  /// Names of what the run measures of its losses, as metrics.jsonl has them: "train/loss",
  /// "eval/accuracy". Records a step and an evaluation, and compiles nothing.
  std::vector<std::string> metrics(const Config& given);

  const DataSource& data() const { return data_; }

 private:
  struct Rank;
  const Registry& registry_;
  DataSource data_;
  std::unique_ptr<Rank> rank_;
};

/// For devices whose kernels are not known, and a loop as the config's. Opens the data.
RunPlanner planner_for_unknown_device(const Config& config, const Registry& registry);

/// For kernels of this machine: instruction sets within both device.max_isa and `max`. Opens the
/// data. Without the passes in `disabled`.
RunPlanner planner_for_this_machine(const Config& config, const Registry& registry, MaxIsa max,
                                    std::vector<std::string> disabled = {});

/// The run of one rank of this machine.
PlannedRun plan_config(const Config& config, const Registry& registry, MaxIsa max = MaxIsa::kAuto);

/// Error kOutOfMemory for a run that would run out of device memory later: in an evaluation, or at
/// the first long samples. If the first step already needs too much, that step throws the error,
/// since it can list the live tensors. Uses its own model, so that `runtime` does not change.
void check_run_memory(const Config& config, const Registry& registry, RankRuntime& runtime,
                      const DataSource& data, const StepPlan& plan);

}  // namespace lockstep
