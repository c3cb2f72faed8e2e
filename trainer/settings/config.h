// The resolved configuration of a run, as plain structs: one per section of the YAML file, and
// three for `training` (those of steps are in training_config.h). Code that needs a parameter takes
// `const Config&` (or just its section). Settings of only one model, dataset or optimizer are a
// separate struct, held as a value. Ranges and documents are in fixed_keys.cpp and with those
// structs; see `lockstep config schema`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/api.h"
#include "core/virtual_time/host_costs.h"
#include "trainer/settings/enums.h"
#include "trainer/settings/own_config.h"
#include "trainer/settings/training_config.h"

namespace LOCKSTEP_API lockstep {

/// The section `run`.
struct RunConfig {
  std::string dir = "runs";  ///< folder of the folders of all runs
  std::string name;          ///< as loaded never empty: the config file's name without extension
  std::int64_t seed = 1337;  ///< of initialization, dropout and the order of the data
};

/// The section `model`.
struct ModelConfig {
  std::string name;            ///< of a model in the registry
  OwnConfig keys = {};         ///< its M::Config
  std::string init_from = {};  ///< a run, checkpoint or Hugging Face folder; "": none
  bool strict = true;          ///< its weights must be exactly those of the model
  GrowPositions grow_positions = GrowPositions::kNone;  ///< of init_from
  /// Patterns of names of parameters that are not trained (core/base/name_pattern.h).
  std::vector<std::string> freeze = {};
};

/// The section `tokenizer`.
struct TokenizerConfig {
  TokenizerType type = TokenizerType::kNone;  ///< which of the other members count
  std::string vocab = {};                     ///< gpt2: vocab.json
  std::string merges = {};                    ///< gpt2: merges.txt
  std::string path = {};                      ///< file: tokenizer.json or vocab.txt
};

/// The section `data`.
struct DataConfig {
  std::string type;                                  ///< of a dataset in the registry
  OwnConfig keys;                                    ///< the keys of that dataset
  std::int64_t sequence_length = 0;                  ///< T; 0: the model's maximum
  PaddingMode padding = PaddingMode::kMax;           ///< of samples of different lengths
  std::vector<std::int64_t> buckets = {};            ///< empty: chosen from the data
  std::int64_t max_buckets = 8;                      ///< the maximum number that is chosen
  std::int64_t pad_to_multiple_of = 1;               ///< padded lengths are rounded up to one
  std::int64_t group_by_length = 0;                  ///< samples of a window; 0: off
  double mlm_probability = 0.15;                     ///< of masking each token, or word
  bool mlm_whole_words = false;                      ///< words are masked, with all of their tokens
  bool shuffle = true;                               ///< a new random order in each epoch
  std::int64_t loader_workers = 1;                   ///< threads that read and collate
  std::int64_t loader_prefetch_size = 8;             ///< batches ready in host memory
  std::int64_t device_prefetch_size = 2;             ///< batches ready in device memory
  std::int64_t host_to_device_transfer_threads = 1;  ///< that copy batches
};

/// Texts that a model generates for the samples of an evaluation; keys of the section `eval`.
struct EvalGenerateConfig {
  std::int64_t max_samples = 0;     ///< 0: none
  std::int64_t max_new_tokens = 0;  ///< 0: as many as the model has positions for
  std::int64_t num_beams = 1;       ///< 1: the likeliest token each time
};

/// The section `eval`.
struct EvalConfig {
  std::int64_t interval = 0;         ///< steps; 0: no evaluation
  std::int64_t max_batches = 0;      ///< 0: the whole validation set
  std::int64_t batch_size = 0;       ///< samples; 0: training.micro_batch_size
  std::vector<std::string> metrics;  ///< in addition to those of the loss
  EvalGenerateConfig generate;       ///< its section `generate`
};

/// The section `early_stopping`.
struct EarlyStoppingConfig {
  std::int64_t patience = 0;                ///< evaluations without improvement; 0: off
  std::string metric = "eval/loss";         ///< any metric of an evaluation
  BetterMetric mode = BetterMetric::kAuto;  ///< whether less or more is better
  double min_delta = 0.0;                   ///< smaller changes are no improvement
};

/// The section `checkpoint`.
struct CheckpointConfig {
  std::string resume = "none";     ///< "none", "auto", or the path of a checkpoint
  std::int64_t save_interval = 0;  ///< steps; 0: at the end only; -1: never
  std::int64_t keep_last = 3;      ///< newest checkpoints that are kept
  bool keep_best = false;          ///< by early_stopping.metric
};

/// The section `distributed`.
struct DistributedConfig {
  AllReducePath allreduce = AllReducePath::kAuto;  ///< how gradients travel
  double bucket_mb = 25.0;                      ///< MiB of gradients that are all-reduced at once
  double first_bucket_mb = 1.0;                 ///< MiB, small so that communication starts early
  bool overlap = true;                          ///< all-reduce while the backward pass goes on
  double stall_warn_s = 30.0;                   ///< seconds without progress until a warning
  double stall_abort_s = 300.0;                 ///< seconds until the job ends with exit code 7
  double foreign_call_abort_s = 1800.0;         ///< the same for an fsync, a Dataset::get, MPI_Init
  std::int64_t check_interval = 100;            ///< steps; 0: replicas are not compared
  std::int64_t simulated_nodes = 0;             ///< in virtual time; 0: the nodes that there are
  std::int64_t simulated_ranks_per_device = 1;  ///< in virtual time
};

/// The section `device`.
struct DeviceConfig {
  double memory_gb = 4.0;               ///< GiB for one rank, a hard limit
  std::int64_t threads = kAutoThreads;  ///< cores of a rank; kAutoThreads: its share of the host's
  std::int64_t queue_depth = 2;         ///< executions that the host may queue ahead
  MaxIsa max_isa = MaxIsa::kAuto;       ///< widest vector units that kernels use
  std::string compile_cache = "auto";   ///< a folder, "auto" for the user's cache folder, or "off"
  double compile_cache_gb = 1.0;        ///< GiB, beyond which the least used steps are removed
  std::int64_t max_programs = 64;       ///< that are kept; more are a mistake
  OnMaxPrograms on_max_programs = OnMaxPrograms::kWarn;  ///< what happens beyond it
  std::string profile = {};  ///< the device that each rank stands for; "": virtual time is not kept
  HostCosts host;            ///< its section `host`, for virtual time
  std::vector<std::string> simulate = {};  ///< see trainer/devices/disturbance_words.h
};

/// The section `logging`.
struct LoggingConfig {
  std::int64_t interval = 10;  ///< steps
  bool tensorboard = true;     ///< write event files of TensorBoard
};

/// The section `profile.trace`.
struct TraceConfig {
  std::vector<std::int64_t> steps;       ///< {first, last}; empty: none
  TraceClock clock = TraceClock::kReal;  ///< what this machine did, or devices of device.profile
};

/// The section `profile`.
struct ProfileConfig {
  TraceConfig trace;            ///< its section `trace`
  bool ledger = false;          ///< measure every command; print and save the time of each
  bool metrics_report = false;  ///< print Metrics::report() when the run ends
  bool forbid_reads = false;    ///< reading a value within a step is an error
};

/// The section `sample`: texts that a model generates.
struct SampleConfig {
  std::int64_t interval = 0;          ///< steps between samples while training; 0: none
  std::string prompt;                 ///< text that generation continues
  std::int64_t max_new_tokens = 200;  ///< of one text, at most
  double temperature = 1.0;           ///< 0: the likeliest token
  std::int64_t top_k = 0;             ///< 0: all tokens
  double top_p = 1.0;                 ///< 1: all tokens
  std::int64_t num_samples = 1;       ///< texts for the prompt
  std::int64_t seed = 1337;           ///< of the draws
  std::int64_t num_beams = 1;         ///< above 1: beam search, which draws nothing
  double length_penalty = 1.0;        ///< power of the length that divides a beam's log-probability
  bool early_stopping = false;        ///< beam search ends when num_beams texts have ended
};

/// A whole config: a member for each section, where `length`, `batch` and `training` together are
/// the section `training`.
struct Config {
  /// The section of this name.
  /// @{
  RunConfig run;
  ModelConfig model;
  TokenizerConfig tokenizer;
  DataConfig data;
  LengthConfig length;
  BatchConfig batch;
  TrainingConfig training;
  OptimizerConfig optimizer;
  SchedulerConfig scheduler;
  EvalConfig eval;
  EarlyStoppingConfig early_stopping;
  CheckpointConfig checkpoint;
  DistributedConfig distributed;
  DeviceConfig device;
  LoggingConfig logging;
  ProfileConfig profile;
  SampleConfig sample;
  /// @}
};

}  // namespace lockstep
