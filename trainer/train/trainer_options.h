// The options of a Trainer, besides module and optimizer.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"

namespace LOCKSTEP_API lockstep {

enum class Resume : std::uint8_t {
  kNone,  ///< an earlier run in the folder is moved aside
  kAuto,  ///< from the folder's newest valid checkpoint, if there is one
};
enum class OnNonFinite : std::uint8_t { kStop, kSkip };
enum class SchedulePolicy : std::uint8_t { kConstant, kLinear, kCosine };

/// The learning rate over the steps: warm-up from 0, then constant or decaying to min_lr.
struct LearningRateSchedule {
  SchedulePolicy policy = SchedulePolicy::kConstant;
  std::int64_t warmup_steps = 0;
  double min_lr = 0.0;
  std::int64_t decay_steps = 0;  ///< 0: the number given to Trainer::steps()
};

struct TrainerOptions {
  /// The run's folder: checkpoints, metrics.jsonl, TensorBoard files, logs. Empty: leaves no files.
  std::string run = {};
  std::uint64_t seed = 1337;       ///< of parameters, dropout and the order of the data
  std::int64_t save_interval = 0;  ///< steps; 0: at the end only; -1: never
  std::int64_t keep_last = 3;      ///< checkpoints
  bool keep_best = false;          ///< also the one with the best `best_metric`
  Resume resume = Resume::kNone;
  std::string resume_from = {};     ///< the path of a checkpoint, instead of `resume`
  bool bf16 = false;                ///< bf16 dots and activations, f32 parameters and optimizer
  double gradient_clip_norm = 0.0;  ///< of the global norm; 0: no clipping
  OnNonFinite on_nonfinite = OnNonFinite::kStop;
  std::int64_t max_skipped_steps = 10;  ///< in a row; 0: no limit
  LearningRateSchedule schedule = {};
  std::string best_metric = "eval/loss";  ///< for keep_best and patience
  bool best_is_max = false;
  std::int64_t patience = 0;       ///< evaluations without improvement before steps() ends; 0: off
  std::int64_t log_interval = 10;  ///< steps; the first and the last are always logged
  bool progress_lines = false;     ///< on the console, too
  /// Parameters of a group (Module::set_group) are updated by the same rule with the group's
  /// settings. The schedule scales all learning rates by the same factor.
  OptimizerGroups groups = {};
};

}  // namespace lockstep
