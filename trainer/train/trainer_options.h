// The options of a Trainer, besides module and optimizer: the sections of a config that are about
// training (trainer/settings/config.h). `lockstep config schema` documents every key of them.
//
//   {.run = "runs/net", .checkpoint = {.resume = "auto", .save_interval = 50}}
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/config.h"

namespace LOCKSTEP_API lockstep {

/// Where a run leaves its files, and how it trains.
struct TrainerOptions {
  /// The run's folder: checkpoints, metrics.jsonl, TensorBoard files, logs. Empty: leaves no files.
  std::string run = {};
  /// What a new run begins with: a run, a checkpoint, or a Hugging Face folder whose tensors have
  /// the module's names. With `strict` false what fits is taken; the log lists the rest. A resumed
  /// run has its own values. Error kCheckpoint.
  std::string init_from = {};
  bool strict = true;            ///< see init_from
  std::uint64_t seed = 1337;     ///< of parameters, dropout and the order of the data
  TrainingConfig training = {};  ///< precision, clipping, steps that are not finite
  /// The learning rate over the steps: warm-up from 0, then constant or decaying. decay_steps 0:
  /// the number given to Trainer::steps(). "plateau" follows the evaluations named "eval".
  SchedulerConfig scheduler = {};
  /// Instead of `scheduler`: the learning rate of 0-based `step`, a pure function, so that a
  /// resumed run and all ranks have the same. It replaces the optimizer's own rate, and scales
  /// those of groups by the same factor.
  std::function<double(std::int64_t step)> learning_rate = {};
  /// The metric that is watched for checkpoint.keep_best and patience. The mode kAuto takes the
  /// lowest value of a metric whose name ends in "loss", and the highest of any other.
  EarlyStoppingConfig early_stopping = {};
  /// When to save, what to keep, and `resume`: "none" moves an earlier run in the folder aside,
  /// "auto" goes on from its newest valid checkpoint, if there is one; or the path of a checkpoint.
  CheckpointConfig checkpoint = {};
  LoggingConfig logging = {};   ///< how often metrics are written
  bool progress_lines = false;  ///< on the console, too
  /// Parameters of a group (Module::set_group) are updated by the same rule with the group's
  /// settings. The schedule scales all learning rates by the same factor.
  OptimizerGroups groups = {};
};

}  // namespace lockstep
