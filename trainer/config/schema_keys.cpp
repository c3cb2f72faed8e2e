// The rows of the table of schema.h.
#include <type_traits>

#include "trainer/config/schema.h"

namespace lockstep {
namespace {

template <class Struct, class T>
T member_type(T Struct::*);

/// Binds config.<section>.<key>.
template <auto Section, auto Key>
Binding bind() {
  using T = decltype(member_type(Key));
  if constexpr (std::is_enum_v<T>) {
    return EnumMember{EnumNames<T>::kNames,
                      [](const Config& c) { return static_cast<std::size_t>(c.*Section.*Key); },
                      [](Config& c, std::size_t i) { c.*Section.*Key = static_cast<T>(i); }};
  } else {
    return Member<T>{[](Config& c) -> T& { return c.*Section.*Key; }};
  }
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMaxSize = Range::kMaxSize;
constexpr double kMaxCount = Range::kMaxCount;

Range sizes(double min = 1) {
  return {min, kMaxSize};
}
Range counts(double min = 0) {
  return {min, kMaxCount};
}
Range at_least(double min) {
  return {min, kInf};
}
Range above(double min) {
  return {min, kInf, true};
}
Range fraction() {
  return {0, 1, false, true};
}

constexpr Condition kMlp{"model.name", {"mlp"}};
constexpr Condition kClassifier{"model.name", {"mlp", "lenet"}};
constexpr Condition kGpt2{"model.name", {"gpt2"}};
constexpr Condition kGpt2Tokenizer{"tokenizer.type", {"gpt2"}};
constexpr Condition kFiles{"data.type", {"text", "tokens", "idx"}};
constexpr Condition kTokenFiles{"data.type", {"text", "tokens"}};
constexpr Condition kIdx{"data.type", {"idx"}};
constexpr Condition kSynthetic{"data.type", {"synthetic"}};
constexpr Condition kAdamW{"optimizer.name", {"adamw"}};
constexpr Condition kSgd{"optimizer.name", {"sgd"}};
constexpr Condition kDecaying{"scheduler.name", {"linear", "cosine"}};

using C = Config;

std::vector<ConfigKey> run_and_model_keys() {
  return {
      {.path = "run.dir",
       .member = bind<&C::run, &RunConfig::dir>(),
       .doc = "Folder under which every run has a folder of its own."},
      {.path = "run.name",
       .member = bind<&C::run, &RunConfig::name>(),
       .doc = "Folder of this run inside run.dir; by default the config file's name."},
      {.path = "run.seed",
       .member = bind<&C::run, &RunConfig::seed>(),
       .range = counts(),
       .doc = "Seeds initialization, dropout and the order of the data."},

      {.path = "model.name",
       .member = bind<&C::model, &ModelConfig::name>(),
       .doc = "Architecture to train.",
       .required = true},
      {.path = "model.n_layer",
       .member = bind<&C::model, &ModelConfig::n_layer>(),
       .range = {1, 4096},
       .doc = "Transformer blocks.",
       .when = &kGpt2},
      {.path = "model.n_head",
       .member = bind<&C::model, &ModelConfig::n_head>(),
       .range = sizes(),
       .doc = "Attention heads per block; divides n_embd.",
       .when = &kGpt2},
      {.path = "model.n_embd",
       .member = bind<&C::model, &ModelConfig::n_embd>(),
       .range = sizes(),
       .doc = "Width of the residual stream.",
       .when = &kGpt2},
      {.path = "model.block_size",
       .member = bind<&C::model, &ModelConfig::block_size>(),
       .range = sizes(),
       .unit = "tokens",
       .doc = "Positions the model knows: the longest sequence it takes.",
       .when = &kGpt2},
      {.path = "model.vocab_size",
       .member = bind<&C::model, &ModelConfig::vocab_size>(),
       .range = sizes(0),
       .unit = "tokens",
       .doc = "Rows of the token embedding; 0 takes the tokenizer's vocabulary.",
       .when = &kGpt2},
      {.path = "model.dropout",
       .member = bind<&C::model, &ModelConfig::dropout>(),
       .range = fraction(),
       .doc = "Probability of dropping an element of embeddings, attention and residuals.",
       .when = &kGpt2},
      {.path = "model.hidden_sizes",
       .member = bind<&C::model, &ModelConfig::hidden_sizes>(),
       .range = sizes(),
       .doc = "Widths of the hidden layers, first to last; [] makes a linear model.",
       .may_be_empty = true,
       .when = &kMlp},
      {.path = "model.input_size",
       .member = bind<&C::model, &ModelConfig::input_size>(),
       .range = sizes(),
       .doc = "Numbers in one input sample.",
       .when = &kMlp},
      {.path = "model.n_classes",
       .member = bind<&C::model, &ModelConfig::n_classes>(),
       .range = sizes(2),
       .doc = "Classes to tell apart.",
       .when = &kClassifier},
  };
}

std::vector<ConfigKey> data_keys() {
  return {
      {.path = "tokenizer.type",
       .member = bind<&C::tokenizer, &TokenizerConfig::type>(),
       .doc = "How text becomes tokens: one per character of the corpus, or GPT-2's byte-pair "
              "encoding.",
       .when = &kGpt2},
      {.path = "tokenizer.vocab",
       .member = bind<&C::tokenizer, &TokenizerConfig::vocab>(),
       .doc = "GPT-2's vocab.json.",
       .required = true,
       .when = &kGpt2Tokenizer},
      {.path = "tokenizer.merges",
       .member = bind<&C::tokenizer, &TokenizerConfig::merges>(),
       .doc = "GPT-2's merges.txt.",
       .required = true,
       .when = &kGpt2Tokenizer},

      {.path = "data.type",
       .member = bind<&C::data, &DataConfig::type>(),
       .doc = "Format of the data: plain text, token shards (.bin), IDX images (.gz too), or "
              "random samples made on the fly.",
       .required = true},
      {.path = "data.path",
       .member = bind<&C::data, &DataConfig::path>(),
       .doc = "File to train on; for text and tokens also a list of files read one after the "
              "other.",
       .required = true,
       .when = &kFiles},
      {.path = "data.labels",
       .member = bind<&C::data, &DataConfig::labels>(),
       .doc = "IDX file of the labels of data.path.",
       .required = true,
       .when = &kIdx},
      {.path = "data.val_path",
       .member = bind<&C::data, &DataConfig::val_path>(),
       .doc = "File or files to validate on; without it, a part of data.path is.",
       .may_be_empty = true,
       .when = &kFiles},
      {.path = "data.val_labels",
       .member = bind<&C::data, &DataConfig::val_labels>(),
       .doc = "IDX file of the labels of data.val_path.",
       .may_be_empty = true,
       .when = &kIdx},
      {.path = "data.val_fraction",
       .member = bind<&C::data, &DataConfig::val_fraction>(),
       .range = fraction(),
       .doc = "Part at the end of data.path that is kept for validation when there is no val_path.",
       .when = &kTokenFiles},
      {.path = "data.train_range",
       .member = bind<&C::data, &DataConfig::train_range>(),
       .range = counts(),
       .unit = "samples",
       .doc = "Samples of data.path to train on, begin <= i < end; [] means all.",
       .when = &kIdx},
      {.path = "data.val_range",
       .member = bind<&C::data, &DataConfig::val_range>(),
       .range = counts(),
       .unit = "samples",
       .doc = "Samples to validate on, of val_path or else of path; [] means all of val_path.",
       .when = &kIdx},
      {.path = "data.sequence_length",
       .member = bind<&C::data, &DataConfig::sequence_length>(),
       .range = sizes(0),
       .unit = "tokens",
       .doc = "Tokens in one sample; 0 takes model.block_size.",
       .when = &kGpt2},
      {.path = "data.stride",
       .member = bind<&C::data, &DataConfig::stride>(),
       .range = sizes(0),
       .unit = "tokens",
       .doc = "Distance between the starts of neighbouring training samples; 0 takes the sequence "
              "length, 1 with shuffle draws crops at any position.",
       .when = &kTokenFiles},
      {.path = "data.num_samples",
       .member = bind<&C::data, &DataConfig::num_samples>(),
       .range = counts(1),
       .unit = "samples",
       .doc = "Size of the synthetic dataset.",
       .when = &kSynthetic},
      {.path = "data.normalize_mean",
       .member = bind<&C::data, &DataConfig::normalize_mean>(),
       .doc = "Subtracted from pixels, which are first scaled to [0, 1].",
       .when = &kIdx},
      {.path = "data.normalize_std",
       .member = bind<&C::data, &DataConfig::normalize_std>(),
       .range = above(0),
       .doc = "Divides pixels after normalize_mean was subtracted.",
       .when = &kIdx},
  };
}

std::vector<ConfigKey> loader_keys() {
  return {
      {.path = "data.shuffle",
       .member = bind<&C::data, &DataConfig::shuffle>(),
       .doc = "Visit the training samples in a new random order each epoch."},
      {.path = "data.loader_workers",
       .member = bind<&C::data, &DataConfig::loader_workers>(),
       .range = {1, 1024},
       .unit = "threads",
       .doc = "Threads that read and collate batches; results do not depend on it."},
      {.path = "data.loader_prefetch_size",
       .member = bind<&C::data, &DataConfig::loader_prefetch_size>(),
       .range = {1, 4096},
       .unit = "batches",
       .doc = "Batches kept ready in host memory."},
      {.path = "data.device_prefetch_size",
       .member = bind<&C::data, &DataConfig::device_prefetch_size>(),
       .range = {1, 4096},
       .unit = "batches",
       .doc = "Batches kept ready in device memory."},
      {.path = "data.host_to_device_transfer_threads",
       .member = bind<&C::data, &DataConfig::host_to_device_transfer_threads>(),
       .range = {1, 64},
       .unit = "threads",
       .doc = "Threads that copy batches to the device."},
  };
}

std::vector<ConfigKey> training_keys() {
  return {
      {.path = "training.max_steps",
       .member = bind<&C::training, &TrainingConfig::max_steps>(),
       .range = counts(-1),
       .unit = "steps",
       .doc = "Optimizer steps; -1 for no limit; 0 initializes, saves step 0 and exits. "
              "Whichever of max_steps and max_epochs comes first ends the run."},
      {.path = "training.max_epochs",
       .member = bind<&C::training, &TrainingConfig::max_epochs>(),
       .range = counts(-1),
       .unit = "epochs",
       .doc = "Passes over the training data; -1 for no limit."},
      {.path = "training.global_batch_size",
       .member = bind<&C::training, &TrainingConfig::global_batch_size>(),
       .range = sizes(),
       .unit = "samples",
       .doc = "Samples per optimizer step, over all ranks.",
       .required = true},
      {.path = "training.micro_batch_size",
       .member = bind<&C::training, &TrainingConfig::micro_batch_size>(),
       .range = sizes(),
       .unit = "samples",
       .doc = "Samples in one logical shard, the unit of work; global_batch_size is a multiple of "
              "it.",
       .required = true},
      {.path = "training.precision",
       .member = bind<&C::training, &TrainingConfig::precision>(),
       .doc = "Arithmetic of the model."},
      {.path = "training.gradient_clip_norm",
       .member = bind<&C::training, &TrainingConfig::gradient_clip_norm>(),
       .range = at_least(0),
       .doc = "Gradients are scaled down to this global norm if theirs is larger; 0 is off."},
      {.path = "training.on_nonfinite",
       .member = bind<&C::training, &TrainingConfig::on_nonfinite>(),
       .doc = "On a NaN or infinite gradient, end the run with exit code 5 or skip the update."},
      {.path = "training.deterministic",
       .member = bind<&C::training, &TrainingConfig::deterministic>(),
       .doc = "The same bits on any number of ranks and threads."},

      {.path = "optimizer.name",
       .member = bind<&C::optimizer, &OptimizerConfig::name>(),
       .doc = "Update rule."},
      {.path = "optimizer.learning_rate",
       .member = bind<&C::optimizer, &OptimizerConfig::learning_rate>(),
       .range = at_least(0),
       .doc = "Peak learning rate.",
       .required = true},
      {.path = "optimizer.betas",
       .member = bind<&C::optimizer, &OptimizerConfig::betas>(),
       .range = fraction(),
       .doc = "Decay of the running mean of the gradient and of its square.",
       .when = &kAdamW},
      {.path = "optimizer.eps",
       .member = bind<&C::optimizer, &OptimizerConfig::eps>(),
       .range = above(0),
       .doc = "Added to the denominator.",
       .when = &kAdamW},
      {.path = "optimizer.weight_decay",
       .member = bind<&C::optimizer, &OptimizerConfig::weight_decay>(),
       .range = at_least(0),
       .doc = "Decay of matrices (decoupled with adamw); biases and norms are not decayed."},
      {.path = "optimizer.momentum",
       .member = bind<&C::optimizer, &OptimizerConfig::momentum>(),
       .range = fraction(),
       .doc = "Decay of the running sum of gradients; 0 is plain SGD.",
       .when = &kSgd},

      {.path = "scheduler.name",
       .member = bind<&C::scheduler, &SchedulerConfig::name>(),
       .doc = "Course of the learning rate after warm-up."},
      {.path = "scheduler.warmup_steps",
       .member = bind<&C::scheduler, &SchedulerConfig::warmup_steps>(),
       .range = counts(),
       .unit = "steps",
       .doc = "Steps over which the learning rate first rises linearly to its peak."},
      {.path = "scheduler.min_lr",
       .member = bind<&C::scheduler, &SchedulerConfig::min_lr>(),
       .range = at_least(0),
       .doc = "Learning rate that decay ends at.",
       .when = &kDecaying},
      {.path = "scheduler.decay_steps",
       .member = bind<&C::scheduler, &SchedulerConfig::decay_steps>(),
       .range = counts(),
       .unit = "steps",
       .doc = "Step at which min_lr is reached, warm-up included; 0 takes the length of the run.",
       .when = &kDecaying},
  };
}

std::vector<ConfigKey> evaluation_and_checkpoint_keys() {
  return {
      {.path = "eval.interval",
       .member = bind<&C::eval, &EvalConfig::interval>(),
       .range = counts(),
       .unit = "steps",
       .doc = "Evaluate every so many steps and after the last one; 0 is never."},
      {.path = "eval.max_batches",
       .member = bind<&C::eval, &EvalConfig::max_batches>(),
       .range = counts(),
       .unit = "batches",
       .doc = "Batches of the validation data to use; 0 takes all of it."},
      {.path = "eval.batch_size",
       .member = bind<&C::eval, &EvalConfig::batch_size>(),
       .range = sizes(0),
       .unit = "samples",
       .doc = "Samples in one evaluation batch; 0 takes training.micro_batch_size."},

      {.path = "early_stopping.patience",
       .member = bind<&C::early_stopping, &EarlyStoppingConfig::patience>(),
       .range = counts(),
       .unit = "evaluations",
       .doc = "Stop after so many evaluations without improvement; 0 is off."},
      {.path = "early_stopping.metric",
       .member = bind<&C::early_stopping, &EarlyStoppingConfig::metric>(),
       .doc = "What must improve, for early stopping and checkpoint.keep_best."},
      {.path = "early_stopping.min_delta",
       .member = bind<&C::early_stopping, &EarlyStoppingConfig::min_delta>(),
       .range = at_least(0),
       .doc = "Smaller changes do not count as improvement."},

      {.path = "checkpoint.resume",
       .member = bind<&C::checkpoint, &CheckpointConfig::resume>(),
       .doc =
           "Start from nothing (none), from the run's newest checkpoint that verifies (auto), or "
           "from the checkpoint at a path."},
      {.path = "checkpoint.save_interval",
       .member = bind<&C::checkpoint, &CheckpointConfig::save_interval>(),
       .range = counts(-1),
       .unit = "steps",
       .doc = "Save every so many steps and after the last one; 0 is only after the last, -1 is "
              "never."},
      {.path = "checkpoint.keep_last",
       .member = bind<&C::checkpoint, &CheckpointConfig::keep_last>(),
       .range = counts(1),
       .unit = "checkpoints",
       .doc = "Newest checkpoints to keep."},
      {.path = "checkpoint.keep_best",
       .member = bind<&C::checkpoint, &CheckpointConfig::keep_best>(),
       .doc = "Also keep the checkpoint with the best early_stopping.metric."},
  };
}

std::vector<ConfigKey> machine_and_output_keys() {
  return {
      {.path = "distributed.bucket_mb",
       .member = bind<&C::distributed, &DistributedConfig::bucket_mb>(),
       .range = {0, 65536, true},
       .unit = "MiB",
       .doc = "Gradients are all-reduced in buckets of about this size."},
      {.path = "distributed.first_bucket_mb",
       .member = bind<&C::distributed, &DistributedConfig::first_bucket_mb>(),
       .range = {0, 65536, true},
       .unit = "MiB",
       .doc = "Size of the first bucket, small so that communication starts early."},
      {.path = "distributed.overlap",
       .member = bind<&C::distributed, &DistributedConfig::overlap>(),
       .doc = "All-reduce a bucket while the backward pass still computes the next."},
      {.path = "distributed.stall_warn_s",
       .member = bind<&C::distributed, &DistributedConfig::stall_warn_s>(),
       .range = above(0),
       .unit = "seconds",
       .doc = "Warn when a collective waits this long for another rank."},
      {.path = "distributed.stall_abort_s",
       .member = bind<&C::distributed, &DistributedConfig::stall_abort_s>(),
       .range = above(0),
       .unit = "seconds",
       .doc = "End the job with exit code 7 when a collective waits this long."},

      {.path = "device.memory_gb",
       .member = bind<&C::device, &DeviceConfig::memory_gb>(),
       .range = {0, 65536, true},
       .unit = "GiB",
       .doc = "Hard limit of a rank's device memory."},
      {.path = "device.threads",
       .member = bind<&C::device, &DeviceConfig::threads>(),
       .range = {1, 1024},
       .unit = "threads",
       .doc = "Cores of a rank's device; results do not depend on it."},
      {.path = "device.queue_depth",
       .member = bind<&C::device, &DeviceConfig::queue_depth>(),
       .range = {1, 64},
       .unit = "executions",
       .doc = "Executions the host may queue ahead of the device."},

      {.path = "logging.interval",
       .member = bind<&C::logging, &LoggingConfig::interval>(),
       .range = counts(1),
       .unit = "steps",
       .doc = "Steps between console lines and between records of metrics.jsonl."},
      {.path = "logging.tensorboard",
       .member = bind<&C::logging, &LoggingConfig::tensorboard>(),
       .doc = "Write TensorBoard event files into the run's folder."},

      {.path = "profile.metrics_report",
       .member = bind<&C::profile, &ProfileConfig::metrics_report>(),
       .doc = "Print all metrics and counters when the run ends."},

      {.path = "sample.prompt",
       .member = bind<&C::sample, &SampleConfig::prompt>(),
       .doc = "Text that generation continues.",
       .may_be_empty = true,
       .when = &kGpt2},
      {.path = "sample.max_new_tokens",
       .member = bind<&C::sample, &SampleConfig::max_new_tokens>(),
       .range = sizes(0),
       .unit = "tokens",
       .doc = "Tokens to generate.",
       .when = &kGpt2},
      {.path = "sample.temperature",
       .member = bind<&C::sample, &SampleConfig::temperature>(),
       .range = at_least(0),
       .doc = "Divides the logits; 0 takes the likeliest token.",
       .when = &kGpt2},
      {.path = "sample.top_k",
       .member = bind<&C::sample, &SampleConfig::top_k>(),
       .range = sizes(0),
       .unit = "tokens",
       .doc = "Draw from the k likeliest tokens only; 0 is all.",
       .when = &kGpt2},
      {.path = "sample.seed",
       .member = bind<&C::sample, &SampleConfig::seed>(),
       .range = counts(),
       .doc = "Seeds the draws of generation.",
       .when = &kGpt2},
  };
}

std::vector<ConfigKey> all_keys() {
  std::vector<ConfigKey> out;
  for (auto part : {run_and_model_keys, data_keys, loader_keys, training_keys,
                    evaluation_and_checkpoint_keys, machine_and_output_keys}) {
    const std::vector<ConfigKey> keys = part();
    out.insert(out.end(), keys.begin(), keys.end());
  }
  return out;
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = all_keys();
  return keys;
}

}  // namespace lockstep
