// The state in a checkpoint: everything that a run needs to continue as if it had never stopped. It
// has no generator state, because random numbers are counter-based (core/base/rng.h), and no rank
// or shard layout, because the tensors are whole: any number of ranks can restore them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/base/buffer.h"

namespace lockstep {

/// Tensors by name. Names are Hugging Face parameter names ("h.0.attn.c_attn.weight") and may hold
/// any UTF-8 but '/' and NUL.
using NamedTensors = std::map<std::string, HostTensor>;

/// The learning-rate schedule: its name, and the numbers that it needs to continue.
struct ScheduleState {
  std::string name;
  std::map<std::string, double> values;
};

struct EarlyStoppingState {
  std::int64_t best_step = -1;  ///< the step of the best evaluation; -1 before the first
  std::int64_t bad_evaluations = 0;
};

/// What the losses of a run were: what a state is judged against (trainer/train/state_judge.h).
struct LossHistory {
  std::vector<double> recent;  ///< of the last steps that were not far off, oldest first
  /// The lowest loss that two steps in a row did not exceed; NaN before the first step.
  double level = std::numeric_limits<double>::quiet_NaN();
  double least_spread = std::numeric_limits<double>::infinity();  ///< that `recent` has had
  double largest_norm = 0;  ///< of the gradients, of steps whose loss was in line
  double lowest_evaluation = std::numeric_limits<double>::quiet_NaN();  ///< its loss; NaN: none
};

/// What is known about a saved state when its file is written.
enum class Confirmation : std::uint8_t {
  kOpen,       ///< nothing: no step was made from it, and it was not evaluated
  kConfirmed,  ///< training continued well from it, or its evaluation was good
  kDoubtful,   ///< training did not, or its evaluation was bad
};

struct TrainerState {
  std::int64_t step = 0;             ///< optimizer steps done
  std::int64_t epoch = 0;            ///< epochs done
  std::int64_t sample_position = 0;  ///< samples of the current epoch already used
  std::int64_t evaluated_step = -1;  ///< the last evaluated step; -1: none
  std::uint64_t seed = 0;
  ScheduleState schedule;
  double best_metric = std::numeric_limits<double>::quiet_NaN();  ///< NaN before the first
  std::string best_metric_name;  ///< such as "eval/loss"; "": nothing was watched
  std::string best_metric_mode;  ///< "min" or "max"
  EarlyStoppingState early_stopping;
  /// The newest step whose state is known to be good, or that the run began with; -1: not known.
  std::int64_t good_step = -1;
  Confirmation confirmation = Confirmation::kOpen;
  LossHistory losses;
  std::string dataset_digest;
  /// The instruction set that computed the state; its bits depend on it. "" in older files.
  std::string instruction_set;
  std::string cpu_models;  ///< of all ranks, each once, joined with "; "
  std::string tokenizer;   ///< serialized; any bytes, any size; empty for none
  std::string samples;     ///< what they are (trainer/run/saved_texts.h); as tokenizer

  // Saving sets these two; in a loaded state they identify the writer of the file.
  std::int64_t format_version = 0;
  std::string lockstep_version;
};

struct CheckpointState {
  NamedTensors model;                             ///< parameters and running statistics
  std::map<std::string, NamedTensors> optimizer;  ///< by slot: "exp_avg", "exp_avg_sq", ...
  TrainerState trainer;
  std::string config_yaml;  ///< the resolved config, as text
};

}  // namespace lockstep
