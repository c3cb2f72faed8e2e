#include "trainer/config/fixed_keys.h"

#include <iterator>

#include "trainer/config/generation_keys.h"
#include "trainer/config/sample_keys.h"
#include "trainer/config/tokenizer_keys.h"
#include "trainer/config/training_keys.h"
#include "trainer/hub/weight_source.h"

namespace lockstep {
namespace {

template <auto Section>
void* object(Config& config) {
  return &(config.*Section);
}

/// A selector, whose names the registry has.
template <auto Key>
Binding choice() {
  return ChoiceMember{std::get<Member<std::string>>(bind<Key>()), {}};
}

std::vector<KeyGroup> run_and_model() {
  return {
      {"run",
       object<&Config::run>,
       {{.name = "dir",
         .member = bind<&RunConfig::dir>(),
         .doc = "Folder that contains the folders of all runs."},
        {.name = "name",
         .member = bind<&RunConfig::name>(),
         .doc = "Folder of this run inside run.dir; by default the config file's name."},
        {.name = "seed",
         .member = bind<&RunConfig::seed>(),
         .range = count_at_least(0),
         .doc = "Seeds initialization, dropout and the order of the data."}}},
      {"model",
       object<&Config::model>,
       {{.name = "name",
         .member = choice<&ModelConfig::name>(),
         .doc = "Architecture to train",
         .required = true},
        {.name = "freeze",
         .member = bind<&ModelConfig::freeze>(),
         .doc = "Names of parameters that are not trained, in which * stands for any text, ? for "
                "a character and [0-5] for one of a set, such as encoder.layer.[0-5].*; they have "
                "no gradients and no optimizer state.",
         .may_be_empty = true},
        {.name = "init_from",
         .aliases = {"from_pretrained"},
         .member = bind<&ModelConfig::init_from>(),
         .doc = "What a new run begins with: a run or a checkpoint (its weights, not its optimizer "
                "and step), or a Hugging Face folder with config.json and model.safetensors. Also "
                "its values for model keys that are not given here, and its tokenizer if no other "
                "is given.",
         .may_be_empty = true,
         .per_rank = true,
         .file = true,
         .files_in = [](const std::string& path,
                        const void*) { return weight_source_files(path); }},
        {.name = "strict",
         .member = bind<&ModelConfig::strict>(),
         .doc = "The weights of model.init_from must be exactly the model's; false uses those that "
                "fit and draws the others, for example those of a new head."},
        {.name = "grow_positions",
         .member = bind<&ModelConfig::grow_positions>(),
         .doc = "How learned positions of model.init_from fit another number of positions: copy "
                "takes the first ones and repeats them, interpolate spreads them over the whole "
                "length (linear; bicubic for images, whose grid it always interpolates)."}}},
  };
}

std::vector<KeyGroup> data_keys(const RowConditions& rows) {
  return {
      {"data",
       object<&Config::data>,
       {{.name = "type",
         .member = choice<&DataConfig::type>(),
         .doc = "Format of the data",
         .required = true}}},
      {"data",
       object<&Config::data>,
       {{.name = "sequence_length",
         .member = bind<&DataConfig::sequence_length>(),
         .range = size_at_least(0),
         .unit = "tokens",
         .doc = "Tokens in one sample, or in the longest if lengths vary; 0: the model's limit."}},
       rows.takes_tokens},
      {"data",
       object<&Config::data>,
       {{.name = "shuffle",
         .member = bind<&DataConfig::shuffle>(),
         .doc = "Visit the training samples in a new random order each epoch."},
        {.name = "loader_workers",
         .member = bind<&DataConfig::loader_workers>(),
         .range = {1, 1024},
         .unit = "threads",
         .doc = "Threads that read and collate batches; results do not depend on it.",
         .per_rank = true},
        {.name = "loader_prefetch_size",
         .member = bind<&DataConfig::loader_prefetch_size>(),
         .range = {1, 4096},
         .unit = "batches",
         .doc = "Batches kept ready in host memory.",
         .per_rank = true},
        {.name = "device_prefetch_size",
         .member = bind<&DataConfig::device_prefetch_size>(),
         .range = {1, 4096},
         .unit = "batches",
         .doc = "Batches kept ready in device memory.",
         .per_rank = true},
        {.name = "host_to_device_transfer_threads",
         .member = bind<&DataConfig::host_to_device_transfer_threads>(),
         .range = {1, 64},
         .unit = "threads",
         .doc = "Threads that copy batches to the device.",
         .per_rank = true}}},
  };
}

std::vector<KeyGroup> evaluation_and_checkpoints(const RowConditions& rows) {
  return {
      {"eval",
       object<&Config::eval>,
       {{.name = "interval",
         .member = bind<&EvalConfig::interval>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc = "Evaluate once per this many steps and after the last one; 0 is never."},
        {.name = "max_batches",
         .member = bind<&EvalConfig::max_batches>(),
         .range = count_at_least(0),
         .unit = "batches",
         .doc = "Batches of the validation data to use; 0 uses all of it."},
        {.name = "batch_size",
         .member = bind<&EvalConfig::batch_size>(),
         .range = size_at_least(0),
         .unit = "samples",
         .doc = "Samples in one evaluation batch; 0 uses training.micro_batch_size."},
        {.name = "metrics",
         .member = bind<&EvalConfig::metrics>(),
         .doc = "Metrics in addition to those of the model's loss, from the list of `lockstep "
                "models`; [] adds none.",
         .may_be_empty = true}}},
      {"eval",
       object<&Config::eval>,
       {{.name = "generate.max_samples",
         .member = bind<&EvalConfig::generate, &EvalGenerateConfig::max_samples>(),
         .range = count_at_least(0),
         .unit = "samples",
         .doc = "Images of the validation data that an evaluation captions, for eval/exact_match "
                "and eval/bleu4; 0 is none."},
        {.name = "generate.max_new_tokens",
         .member = bind<&EvalConfig::generate, &EvalGenerateConfig::max_new_tokens>(),
         .range = size_at_least(0),
         .unit = "tokens",
         .doc = "Maximum length of these captions; 0 is as many as the model has positions for."},
        {.name = "generate.num_beams",
         .member = bind<&EvalConfig::generate, &EvalGenerateConfig::num_beams>(),
         .range = {1, 1024},
         .doc = "Beams of the search for these captions; 1 takes the likeliest token each time."}},
       rows.captions},
      {"early_stopping",
       object<&Config::early_stopping>,
       {{.name = "patience",
         .member = bind<&EarlyStoppingConfig::patience>(),
         .range = count_at_least(0),
         .unit = "evaluations",
         .doc = "Stop after this many evaluations without improvement; 0 is off."},
        {.name = "metric",
         .member = bind<&EarlyStoppingConfig::metric>(),
         .doc = "Metric that must improve, for early stopping and checkpoint.keep_best: "
                "eval/<name> of any metric of an evaluation."},
        {.name = "mode",
         .member = bind<&EarlyStoppingConfig::mode>(),
         .doc = "Whether the minimum or the maximum of the metric is the best; auto uses min for "
                "names that end in loss and for metrics of which less is better, such as "
                "perplexity, else max."},
        {.name = "min_delta",
         .member = bind<&EarlyStoppingConfig::min_delta>(),
         .range = at_least(0),
         .doc = "Smaller changes do not count as improvement."}}},
      {"checkpoint",
       object<&Config::checkpoint>,
       {{.name = "resume",
         .member = bind<&CheckpointConfig::resume>(),
         .doc = "Start a new run (none), or resume from the run's newest valid checkpoint (auto) "
                "or from the checkpoint at a path."},
        {.name = "save_interval",
         .member = bind<&CheckpointConfig::save_interval>(),
         .range = count_at_least(-1),
         .unit = "steps",
         .doc = "Save once per this many steps and after the last one; 0 is only after the last, "
                "-1 is never."},
        {.name = "keep_last",
         .member = bind<&CheckpointConfig::keep_last>(),
         .range = count_at_least(1),
         .unit = "checkpoints",
         .doc = "Number of newest checkpoints to keep."},
        {.name = "keep_best",
         .member = bind<&CheckpointConfig::keep_best>(),
         .doc = "Also keep the checkpoint with the best early_stopping.metric."}}},
  };
}

std::vector<KeyGroup> distributed() {
  return {
      {"distributed",
       object<&Config::distributed>,
       {{.name = "allreduce",
         .member = bind<&DistributedConfig::allreduce>(),
         .doc = "Transport of gradients: shm uses memory that the ranks of one node share, mpi "
                "uses messages, auto uses shared memory if all ranks have it."},
        {.name = "bucket_mb",
         .member = bind<&DistributedConfig::bucket_mb>(),
         .range = {0, 65536, true},
         .unit = "MiB",
         .doc = "Gradients are all-reduced in buckets of about this size."},
        {.name = "first_bucket_mb",
         .member = bind<&DistributedConfig::first_bucket_mb>(),
         .range = {0, 65536, true},
         .unit = "MiB",
         .doc = "Size of the first bucket, small so that communication starts early."},
        {.name = "overlap",
         .member = bind<&DistributedConfig::overlap>(),
         .doc = "All-reduce a bucket while the backward pass still computes the next."},
        {.name = "stall_warn_s",
         .member = bind<&DistributedConfig::stall_warn_s>(),
         .range = above(0),
         .unit = "seconds",
         .doc = "Warn when a rank that others wait for makes no progress for this long."},
        {.name = "stall_abort_s",
         .member = bind<&DistributedConfig::stall_abort_s>(),
         .range = above(0),
         .unit = "seconds",
         .doc = "End the job with exit code 7 when such a rank makes no progress for this long."},
        {.name = "foreign_call_abort_s",
         .member = bind<&DistributedConfig::foreign_call_abort_s>(),
         .range = above(0),
         .unit = "seconds",
         .doc = "The same for calls whose progress is not visible: one fsync, Dataset::get, "
                "MPI_Init."},
        {.name = "check_interval",
         .member = bind<&DistributedConfig::check_interval>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc = "Ranks compare their whole state once per this many steps, a part of it at each; a "
                "difference ends the job with exit code 7. Of data above 8 GiB or without files "
                "they compare one sample in the same interval (code 3). 0 is never."},
        {.name = "simulated_nodes",
         .member = bind<&DistributedConfig::simulated_nodes>(),
         .range = {0, 1 << 20},
         .unit = "nodes",
         .doc = "With device.profile: the nodes of its devices. 0 is those of the job."},
        {.name = "simulated_ranks_per_device",
         .member = bind<&DistributedConfig::simulated_ranks_per_device>(),
         .range = count_at_least(1),
         .unit = "ranks",
         .doc = "With device.profile: ranks that share one device, its time and its memory."}}},
  };
}

std::vector<KeyGroup> machine_and_output() {
  return {
      {"device",
       object<&Config::device>,
       {{.name = "memory_gb",
         .member = bind<&DeviceConfig::memory_gb>(),
         .range = {0, 65536, true},
         .unit = "GiB",
         .doc = "Hard limit of a rank's device memory.",
         .per_rank = true},
        {.name = "threads",
         .member = bind<&DeviceConfig::threads>(),
         .range = {1, 1024},
         .unit = "threads",
         .doc = "Cores of a rank's device, for equal results; auto takes a share of the host's.",
         .per_rank = true,
         .empty_word = "auto"},
        {.name = "queue_depth",
         .member = bind<&DeviceConfig::queue_depth>(),
         .range = {1, 64},
         .unit = "executions",
         .doc = "Executions the host may queue ahead of the device."},
        {.name = "max_isa",
         .member = bind<&DeviceConfig::max_isa>(),
         .doc = "The widest vector units that kernels may use, as far as the machine has them; "
                "avx512 is without AMX."},
        {.name = "compile_cache",
         .member = bind<&DeviceConfig::compile_cache>(),
         .doc =
             "Folder for compiled steps, which later runs load: a path that only you can write to, "
             "auto (~/.cache/lockstep), or off.",
         .per_rank = true},
        {.name = "compile_cache_gb",
         .member = bind<&DeviceConfig::compile_cache_gb>(),
         .range = {0, 65536, true},
         .unit = "GiB",
         .doc = "Maximum size of device.compile_cache, beyond which the least recently used steps "
                "are removed.",
         .per_rank = true},
        {.name = "max_programs",
         .member = bind<&DeviceConfig::max_programs>(),
         .range = {1, 65536},
         .unit = "programs",
         .doc = "Different programs kept in memory. A run that needs more compiles again and "
                "again: a message names the input, dimension or line that causes it."},
        {.name = "on_max_programs",
         .member = bind<&DeviceConfig::on_max_programs>(),
         .doc = "Action beyond device.max_programs: warn and drop the least recently used program, "
                "or stop with exit code 2."},
        {.name = "profile",
         .member = bind<&DeviceConfig::profile>(),
         .doc = "A device that each rank stands for: its name (lockstep devices lists them) or a "
                "YAML file. The run computes the same, and keeps its virtual time: what its steps "
                "take on these devices.",
         .may_be_empty = true},
        {.name = "simulate",
         .member = bind<&DeviceConfig::simulate>(),
         .doc = "With device.profile: what makes the devices unequal. 'rank=3 slow=1.4 "
                "steps=100:200' slows the commands of a rank, 'jitter=0.03' those of all by a "
                "random factor of this spread in each step, 'link=0,1 bandwidth=0.5' a link. "
                "'rank=2 dies_at_step=50' kills a rank; after 'detection_s=30 restart_s=60' it is "
                "back.",
         .may_be_empty = true}}},
      {"device",
       [](Config& config) -> void* { return &config.device.host; },
       {{.name = "host.time",
         .member = bind<&HostCosts::time>(),
         .doc = "What the host's work takes in virtual time: measured is the CPU time of its "
                "threads here times device.host.factor, none nothing, stated what "
                "device.host.step_ms and the like say."},
        {.name = "host.factor",
         .member = bind<&HostCosts::factor>(),
         .range = {0, 1e6, true},
         .doc = "How much slower that host is than this one; with device.host.time measured."},
        {.name = "host.step_ms",
         .member = bind<&HostCosts::step_ms>(),
         .range = {0, 1e9},
         .unit = "milliseconds",
         .doc = "To record and hand over a training step; with device.host.time stated."},
        {.name = "host.sample_ms",
         .member = bind<&HostCosts::sample_ms>(),
         .range = {0, 1e9},
         .unit = "milliseconds",
         .doc = "A worker's, for one sample; with device.host.time stated."},
        {.name = "host.compile_ms",
         .member = bind<&HostCosts::compile_ms>(),
         .range = {0, 1e9},
         .unit = "milliseconds",
         .doc = "To compile a program; with device.host.time stated."},
        {.name = "host.save_ms",
         .member = bind<&HostCosts::save_ms>(),
         .range = {0, 1e9},
         .unit = "milliseconds",
         .doc = "To write a checkpoint; with device.host.time stated."}}},
      {"logging",
       object<&Config::logging>,
       {{.name = "interval",
         .member = bind<&LoggingConfig::interval>(),
         .range = count_at_least(1),
         .unit = "steps",
         .doc = "Steps between console lines and between records of metrics.jsonl."},
        {.name = "tensorboard",
         .member = bind<&LoggingConfig::tensorboard>(),
         .doc = "Write TensorBoard event files into the run's folder."}}},
      {"profile",
       object<&Config::profile>,
       {{.name = "ledger",
         .member = bind<&ProfileConfig::ledger>(),
         .doc = "Measure every device command; print how time was spent and save "
                "profile/rank-N.json."},
        {.name = "metrics_report",
         .member = bind<&ProfileConfig::metrics_report>(),
         .doc = "Print all metrics and counters when the run ends."},
        {.name = "forbid_reads",
         .member = bind<&ProfileConfig::forbid_reads>(),
         .doc = "Refuse to read a value between taking a batch and the end of its step."}}},
      {"profile",
       [](Config& config) -> void* { return &config.profile.trace; },
       {{.name = "trace.steps",
         .member = bind<&TraceConfig::steps>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc = "First and last step to trace, counted from 0: the work of every thread of all "
                "ranks is written to trace.perfetto-trace in the run's folder. [] traces none.",
         .may_be_empty = true},
        {.name = "trace.clock",
         .member = bind<&TraceConfig::clock>(),
         .doc = "real traces what this machine did, virtual what the devices of device.profile "
                "would do."}}},
  };
}

}  // namespace

std::vector<KeyGroup> fixed_keys(const RowConditions& rows) {
  std::vector<KeyGroup> out;
  const auto add = [&](std::vector<KeyGroup> groups) {
    std::move(groups.begin(), groups.end(), std::back_inserter(out));
  };
  add(run_and_model());
  add(tokenizer_keys(rows.takes_tokens));
  add(data_keys(rows));
  add(length_keys(rows.varies));
  add(masking_keys(rows.masks));
  add(training_keys());
  add(evaluation_and_checkpoints(rows));
  add(distributed());
  add(machine_and_output());
  add(generation_keys(rows.generates_text));
  return out;
}

}  // namespace lockstep
