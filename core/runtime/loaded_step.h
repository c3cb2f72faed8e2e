// A compiled step that can run: its plans with their kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/runtime/compiled_step.h"
#include "core/runtime/loaded_plan.h"
#include "core/virtual_time/step_durations.h"

namespace lockstep {

/// Immutable, shared by the cache and by executions in flight.
struct LoadedStep {
  std::int64_t id = -1;  ///< within this process, for spans; see observe/program_table.h
  std::string name;      ///< in analyses and dumps, see observe/program_analysis.h
  std::shared_ptr<const CompiledStep> compiled;
  LoadedPlan gradient;
  LoadedPlan update;
  StepDurations durations;  ///< on the device that the rank stands for, if virtual time is kept
};

}  // namespace lockstep
