// The sections of a config that say what a training step computes: training, optimizer, scheduler.
// A part of config.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/api.h"
#include "trainer/settings/enums.h"
#include "trainer/settings/own_config.h"
#include "trainer/settings/parameter_group.h"

namespace LOCKSTEP_API lockstep {

/// When a run ends; keys of the section `training`.
struct LengthConfig {
  std::int64_t max_steps = -1;   ///< -1: no limit; 0: initialize, save step 0 and exit
  std::int64_t max_epochs = -1;  ///< -1: no limit; whichever limit comes first ends the run
};

/// training.micro_batch_size: auto, the largest size that fits.
inline constexpr std::int64_t kAutoMicroBatch = 0;
/// device.threads: auto, a share of the host's cores.
inline constexpr std::int64_t kAutoThreads = 0;

/// What a step adds up; keys of the section `training`.
struct BatchConfig {
  std::int64_t global_batch_size = 0;  ///< samples of a step, over all ranks
  std::int64_t micro_batch_size = 0;   ///< samples in one micro-batch; kAutoMicroBatch
  bool deterministic = true;           ///< the same bits on any number of ranks and threads
};

/// How a step is computed; the other keys of the section `training`.
struct TrainingConfig {
  Precision precision = Precision::kFp32;         ///< of activations and dots
  double gradient_clip_norm = 0.0;                ///< of the global norm; 0: no clipping
  OnNonfinite on_nonfinite = OnNonfinite::kStop;  ///< on NaN or infinity in a gradient
  std::int64_t max_skipped_steps = 10;  ///< in a row, before skipping ends the run; 0: no limit
  double ema = 0.0;  ///< decay of the averages of weights that evaluations use; 0: none
};

/// The section `optimizer`.
struct OptimizerConfig {
  std::string name = "adamw";  ///< of an optimizer in the registry
  OwnConfig keys;              ///< the keys of that optimizer
  /// A parameter belongs to the first one that matches its name, if there is one.
  std::vector<ParameterGroup> groups = {};
};

/// The section `scheduler`; trainer/optimizers/schedule.h and trainer/train/plateau.h have the
/// formulas.
struct SchedulerConfig {
  SchedulerName name = SchedulerName::kConstant;  ///< shape of the rate after warm-up
  std::int64_t warmup_steps = 0;                  ///< steps of a linear rise from 0
  double min_lr = 0.0;                            ///< rate at the end of the decay
  std::int64_t decay_steps = 0;                   ///< 0: the run's number of steps
  double power = 1.0;                             ///< polynomial
  std::int64_t timescale = 0;       ///< inverse_sqrt; 0: warmup_steps, or 10,000 without them
  double pct_start = 0.3;           ///< one_cycle: part of decay_steps in which the rate rises
  double div_factor = 25.0;         ///< one_cycle: peak / first rate
  double final_div_factor = 1e4;    ///< one_cycle: first rate / last rate
  std::int64_t cooldown_steps = 0;  ///< wsd; 0: a tenth of decay_steps
  CooldownShape cooldown_shape = CooldownShape::kLinear;  ///< wsd
  std::vector<std::int64_t> milestones = {};              ///< step
  double gamma = 0.1;                                     ///< step
  double factor = 0.1;                                    ///< plateau
  std::int64_t patience = 10;                             ///< plateau: evaluations
  double threshold = 1e-4;                                ///< plateau, relative
  std::int64_t cooldown = 0;                              ///< plateau: evaluations
};

}  // namespace lockstep
