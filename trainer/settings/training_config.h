// The sections of a config that say what a training step computes: training, optimizer, scheduler.
// A part of config.h.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/api.h"
#include "trainer/settings/enums.h"
#include "trainer/settings/own_config.h"

namespace LOCKSTEP_API lockstep {

/// When a run ends; keys of the section `training`.
struct LengthConfig {
  std::int64_t max_steps = -1;   ///< -1: no limit; 0: initialize, save step 0 and exit
  std::int64_t max_epochs = -1;  ///< -1: no limit; whichever limit comes first ends the run
};

/// training.micro_batch_size: auto, the largest size that fits; device.threads: auto, a core share.
inline constexpr std::int64_t kAutoMicroBatch = 0, kAutoThreads = 0;

/// What a step adds up; keys of the section `training`.
struct BatchConfig {
  std::int64_t global_batch_size = 0;
  std::int64_t micro_batch_size = 0;  ///< samples in one micro-batch; kAutoMicroBatch
  bool deterministic = true;
};

/// How a step is computed; the other keys of the section `training`.
struct TrainingConfig {
  Precision precision = Precision::kFp32;
  double gradient_clip_norm = 0.0;  ///< of the global norm; 0: no clipping
  OnNonfinite on_nonfinite = OnNonfinite::kStop;
  std::int64_t max_skipped_steps = 10;  ///< in a row, before skipping ends the run; 0: no limit
};

struct OptimizerConfig {
  std::string name = "adamw";  ///< of an optimizer in the registry
  OwnConfig keys;              ///< the keys of that optimizer
};

struct SchedulerConfig {
  SchedulerName name = SchedulerName::kConstant;
  std::int64_t warmup_steps = 0;
  double min_lr = 0.0;
  std::int64_t decay_steps = 0;  ///< 0: the run's number of steps
};

}  // namespace lockstep
