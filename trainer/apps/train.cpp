#include "trainer/apps/train.h"

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>

#include "core/base/error.h"
#include "trainer/apps/auto_micro_batch.h"
#include "trainer/apps/caption_metrics.h"
#include "trainer/apps/dry_run.h"
#include "trainer/apps/from_config.h"
#include "trainer/apps/initial_values.h"
#include "trainer/apps/run_planner.h"
#include "trainer/apps/sample_texts.h"
#include "trainer/config/folder_keys.h"
#include "trainer/config/group_values.h"
#include "trainer/config/schema.h"
#include "trainer/config/show.h"
#include "trainer/config/warnings.h"
#include "trainer/job/agreement.h"
#include "trainer/job/data_agreement.h"
#include "trainer/machine/limits_file.h"
#include "trainer/registry/open_data.h"
#include "trainer/registry/registry.h"
#include "trainer/run/resume.h"
#include "trainer/run/saved_facts.h"
#include "trainer/train/option_keys.h"
#include "trainer/train/trainer_parts.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::int64_t count_steps(const LengthConfig& length, const StepSampler& sampler) {
  std::int64_t total = length.max_steps;
  if (length.max_epochs >= 0) {
    const std::int64_t steps = length.max_epochs * sampler.steps_per_epoch();
    total = total < 0 ? steps : std::min(total, steps);
  }
  LS_USER_CHECK(total >= 0, "neither training.max_steps nor training.max_epochs limits the run");
  return total;
}

/// "training.max_steps: 50": the limit that ends a run of `total` steps.
std::string limit_of(const LengthConfig& length, std::int64_t total) {
  return length.max_steps == total
             ? fmt::format("training.max_steps: {}", total)
             : fmt::format("training.max_epochs: {}, of {} steps in all", length.max_epochs, total);
}

/// Whether a checkpoint is in the run's folder on the master. Collective.
bool is_of_run(const std::string& checkpoint, const RunFolder& folder, Communicator& communicator) {
  std::error_code error;
  const fs::path own = fs::weakly_canonical(folder.checkpoints, error);
  const bool here = own == fs::weakly_canonical(checkpoint, error).parent_path();
  return communicator.exchange("whose checkpoint", here ? "own" : "other")[0] == "own";
}

/// A finished run may be resumed repeatedly, as scripts do: then it only logs that it is finished.
/// From another run's checkpoint it would only make a copy: that is an error. Collective.
void check_steps_left(const SharedCheckpoint& saved, const RunFolder& folder, const Config& config,
                      std::int64_t total, Communicator& communicator, Log& log) {
  const std::int64_t step = saved.trainer().step;
  if (step < total) return;
  const std::string limit = limit_of(config.length, total);
  if (!is_of_run(saved.path(), folder, communicator))
    raise(ErrorKind::kUsage,
          "nothing to train: {} is of step {}, and the run ends at step {} ({}). Steps count from "
          "the beginning of the run that saved it: raise the limit above {}, or start a new run "
          "with its weights (model.init_from)",
          saved.path(), step, total, limit, step);
  if (step == total)
    log.info(
        "nothing is left to train: {} is of the run's last step, {} ({}); to train on, raise "
        "the limit",
        saved.path(), step, limit);
  else
    log.warn(
        "nothing to train: {} is of step {}, and the run ends at step {} ({}); to train on, raise "
        "the limit above {}; to start a new run, leave out --resume",
        saved.path(), step, total, limit, step);
}

/// Logs the differences from the config that the checkpoint was saved with.
std::vector<std::string> config_changes(const SharedCheckpoint& saved, const Config& config,
                                        const Registry& registry, Log& log) {
  try {
    const Config before =
        parse_config(saved.config_yaml(), "the checkpoint's config", registry).config;
    return config_diff(before, config, registry);
  } catch (const Error& e) {
    log.warn("the checkpoint's config cannot be compared: {}", e.what());
    return {};
  }
}

/// Runs `restore`. An error of a checkpoint gets the keys of model and optimizer that changed since
/// it, which are its usual cause.
template <class Restore>
auto with_changed_keys(const std::vector<std::string>& changes, Restore restore) {
  try {
    return restore();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCheckpoint) throw;
    std::string keys;
    for (const std::string& change : changes)
      if (change.starts_with("model.") || change.starts_with("optimizer."))
        keys += fmt::format("{}{}", keys.empty() ? "; changed since: " : ", ", change);
    throw Error(error.kind(), error.what() + keys);
  }
}

void log_run(const Config& config, RankRuntime& runtime, const BatchPlan& batch) {
  Log& log = runtime.log();
  const std::string fallback = describe_fallback(config, runtime.instruction_set().target);
  if (!fallback.empty()) log.info("{}", fallback);
  log.info("{}", batch.to_string());
  const Topology& topology = runtime.communicator().topology();
  if (topology.size() > 1) log.info("{}", describe_placement(topology, config.batch.deterministic));
}

DataLoaderOptions loader_options(const Config& config, std::int64_t tokens_per_sample) {
  return {.global_batch_size = config.batch.global_batch_size,
          .micro_batch_size = config.batch.micro_batch_size,
          .shuffle = config.data.shuffle,
          .workers = config.data.loader_workers,
          .prefetch = config.data.loader_prefetch_size,
          .device_prefetch = config.data.device_prefetch_size,
          .padding = padding_of(config.data),
          .group_by_length = config.data.group_by_length,
          .eval_batch_size = config.eval.batch_size,
          .max_eval_batches = config.eval.max_batches,
          .tokens_per_sample = tokens_per_sample};
}

/// Trains to step `total`, with evaluations in between and at the end; `after_step` is called after
/// each step and its evaluation.
void train_steps(Trainer& trainer, const Model& model, const DataLoader& train, StepPlan plan,
                 const DataLoader* validation, const EvalConfig& config,
                 const Evaluators& evaluators, std::int64_t total,
                 const std::function<void()>& after_step) {
  const LossFunction loss = std::cref(model);
  const auto is_due = [&] {
    const std::int64_t step = trainer.step_number();
    return validation != nullptr && config.interval > 0 &&
           ((step > 0 && step % config.interval == 0) || step == total);
  };
  const auto evaluate = [&] {
    trainer.try_evaluate(*validation, loss, evaluators, "eval", std::source_location::current());
  };
  Trainer::Steps steps(trainer, train, std::move(plan), total);
  // The signal that ended the previous run may have interrupted its evaluation.
  if (is_due() && !trainer.parts().run.evaluated()) evaluate();
  for (const Batch& batch : steps) {
    trainer.step(batch, model);
    if (is_due()) evaluate();
    after_step();
  }
}

/// Texts of a run that trains, as sample.interval asks for them; null: it asks for none.
std::unique_ptr<TextSampler> sampler_of(const Config& config, const Registry& registry,
                                        const DataSource& data, const Model& model,
                                        RankRuntime& runtime) {
  if (config.sample.interval == 0) return nullptr;
  const DataNeeds needs = registry.needs(config.model);
  LS_USER_CHECK(data.tokenizer != nullptr && needs.inputs == "tokens",
                "'sample.interval' asks for texts, but {}",
                data.tokenizer == nullptr ? "the data has no tokenizer"
                                          : "the model does not continue texts alone");
  check_prompt(*data.tokenizer, config.sample.prompt);
  return std::make_unique<TextSampler>(runtime.engine(), model,
                                       compute_dtype(config.training.precision), *data.tokenizer,
                                       needs.sequence_length, config.sample);
}

/// All samples as one text.
std::string numbered(const std::vector<std::string>& texts) {
  std::string out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts.size() > 1)
      out += fmt::format("{}--- sample {} of {}\n", i == 0 ? "" : "\n", i + 1, texts.size());
    out += texts[i];
  }
  return out;
}

/// The end of a run: reports the measurements and returns the exit code.
int finish_run(Session& session, RunEnd end, std::int64_t step) {
  RankRuntime& runtime = session.runtime();
  runtime.activity().begin(Phase::kFinish, step);
  runtime.finish();
  runtime.report();
  switch (end) {
    case RunEnd::kFinished: runtime.log().info("finished at step {}", step); return 0;
    case RunEnd::kEarlyStopping: return 0;
    case RunEnd::kPreempted:
    case RunEnd::kUnsaved: return static_cast<int>(ErrorKind::kPreempted);
    case RunEnd::kRunning: break;
  }
  LS_CHECK(false, "the run ended without a reason");
}

/// A resumed run no longer needs the folders of its initial weights.
void settle_model_keys(const LoadedConfig& loaded, const std::optional<SharedCheckpoint>& saved,
                       const Registry& registry, Config& config) {
  if (weight_folders(Schema(registry), config).empty()) return;
  if (saved)
    take_saved_keys(saved_config(saved->config_yaml(), saved->path(), registry), loaded, registry,
                    config);
  else
    LS_USER_CHECK(loaded.missing_folder.empty(), "{}", loaded.missing_folder);
}

Config without_folders(Config config, const Registry& registry,
                       const std::optional<SharedCheckpoint>& saved) {
  if (saved) clear_weight_folders(Schema(registry), config);
  return config;
}

/// Such a run learns, but it is probably a mistake.
void warn_of_data(const DataSource& data, const DataNeeds& needs, Log& log) {
  for (const std::string& warning : data.warnings) log.warn("{}", warning);
  const auto classes = static_cast<std::int64_t>(data.classes.size());
  if (classes > 0 && classes < needs.n_classes)
    log.warn("the data has {} classes, and the model is for {}: no sample is of those from {} on",
             classes, needs.n_classes, classes);
}

RunFolder run_folder_of(const Config& config) {
  return run_folder((fs::path(config.run.dir) / config.run.name).string());
}

/// Where a run starts: what it continues, if anything, what it trains on, and what its checkpoints
/// say of it.
struct StartOfRun {
  std::optional<SharedCheckpoint> saved;
  RunSpec spec;
  DataSource data;
};

/// What a resumed run, or what a new one begins with, says of the data.
KnownData known_data(const std::optional<SharedCheckpoint>& saved, const SavedData& described,
                     const LoadedConfig& loaded, const Config& config, const Registry& registry) {
  if (!saved) return inherited_data(loaded, config, registry);
  return {.tokenizer_json = saved->trainer().tokenizer,
          .classes = text_classes(described, registry.needs(config.model))};
}

/// Opens the checkpoint, whose model's keys `config` takes, and the data. Collective.
StartOfRun open_start(const LoadedConfig& loaded, const Registry& registry,
                      const TrainOptions& options, const Settings& settings, RankRuntime& runtime,
                      Config& config) {
  const Activity activity = runtime.activity();
  const std::string resume = options.resume.value_or(config.checkpoint.resume);
  const RunFolder folder = run_folder_of(config);
  std::optional<SharedCheckpoint> saved;
  if (!options.dry_run)
    saved = find_start(resume, folder, runtime.communicator(), activity, runtime.log(),
                       SettingsOf::kConfig);
  settle_model_keys(loaded, saved, registry, config);
  RunSpec spec{.options = options_of(config), .folder = folder};
  spec.options.early_stopping = with_mode(config.early_stopping, registry);
  spec.options.checkpoint.resume = resume;
  // An error in it is one of the checkpoint; open_data() would report it as one of the data.
  const SavedData described = saved ? data_of(*saved) : SavedData();
  activity.begin(Phase::kAgree);
  spec.same_data =
      agree_on_files(runtime.communicator(), without_folders(config, registry, saved), registry,
                     {.cache_folder = cache_folder(config, settings),
                      .on_warning = runtime.warnings_to_console(),
                      .activity = activity},
                     runtime.log());
  activity.begin(Phase::kData);
  DataSource data = [&] {
    const ForeignCall call(activity, "opening the data");
    return open_data(config, registry, known_data(saved, described, loaded, config, registry));
  }();
  agree_on_datasets(runtime.communicator(), data);
  if (saved) check_saved_classes(described.samples, saved->path(), data);
  warn_of_data(data, registry.needs(config.model), runtime.log());
  activity.begin(Phase::kPrepare);
  config = with_classes_of(data, std::move(config), registry);
  if (config.batch.micro_batch_size == kAutoMicroBatch)
    config.batch.micro_batch_size = choose_micro_batch(config, registry, saved, data, runtime);
  spec.config_text = config_yaml(config, registry);
  if (data.tokenizer != nullptr) spec.tokenizer = data.tokenizer->serialize();
  spec.samples = sample_facts_of(data);
  return {.saved = std::move(saved), .spec = std::move(spec), .data = std::move(data)};
}

/// Prints on the master what a run would take; returns the exit code.
int dry_run(const Config& config, const Registry& registry, const Settings& settings,
            Session& session, Model& model, const DataSource& data, const StepPlan& plan) {
  RankRuntime& runtime = session.runtime();
  TrainingState state = make_training_state(config, registry, model);
  const FoundLimits found = find_limits(settings, runtime.instruction_set().target);
  if (!found.warning.empty()) runtime.log().warn("{}", found.warning);
  const DryRun dry = describe_dry_run(config, registry, runtime, state, data, plan, found.limits);
  if (session.is_master()) fmt::print("{}", dry.text);
  runtime.finish();
  return dry.fits ? 0 : static_cast<int>(ErrorKind::kOutOfMemory);
}

int run_training(const LoadedConfig& loaded, const Registry& registry, const TrainOptions& options,
                 const Settings& settings, Session& session) {
  Config config = loaded.config;
  RankRuntime& runtime = session.runtime();
  Log& log = runtime.log();
  StartOfRun start = open_start(loaded, registry, options, settings, runtime, config);
  const DataSource& data = start.data;
  std::optional<SharedCheckpoint>& saved = start.saved;
  const BatchPlan batch = plan_batch(config.batch, runtime.communicator().size());

  const DataLoaderOptions loading = loader_options(config, data.tokens_per_sample);
  const DataLoader train(data.train, loading);
  std::optional<DataLoader> validation;
  if (data.validation != nullptr) validation.emplace(data.validation, loading);
  StepPlan plan{batch, training_sampler(config, data.train)};
  const std::int64_t total_steps = count_steps(config.length, plan.sampler);
  for (const std::string& warning : config_warnings(loaded, registry, total_steps))
    log.warn("{}", warning);
  if (saved)
    check_steps_left(*saved, run_folder_of(config), config, total_steps, runtime.communicator(),
                     log);
  const std::unique_ptr<Model> model = registry.make_model(config.model, {data.vocab_size});
  std::optional<InitialValues> given;
  if (!saved) given.emplace(config, registry, *model, data.tokenizer, runtime.activity());
  if (given && !given->empty())
    start.spec.values = [given](const std::string& name) { return given->value(name); };
  LS_USER_CHECK(config.model.freeze.empty() || !model->parameters().trained().empty(),
                "'model.freeze' leaves no parameter to train");
  const std::unique_ptr<TextSampler> sampler = sampler_of(config, registry, data, *model, runtime);
  if (options.dry_run) return dry_run(config, registry, settings, session, *model, data, plan);

  if (total_steps > (saved ? saved->trainer().step : 0))
    check_run_memory(config, registry, runtime, data, plan);
  const std::vector<std::string> changes =
      saved ? config_changes(*saved, config, registry, log) : std::vector<std::string>();
  start.spec.options.groups = make_groups(config, registry, *model);
  start.spec.more_metrics = caption_metrics_of(config, registry.needs(config.model), data, *model,
                                               compute_dtype(config.training.precision), runtime);
  auto parts = with_changed_keys(changes, [&] {
    return std::make_unique<Trainer::Parts>(
        session, *model, registry.make_optimizer(config.optimizer), start.spec, std::move(saved));
  });
  TrainingRun& run = parts->run;
  Trainer trainer(std::move(parts));
  log_run(config, runtime, batch);
  log.info("training data: {} ({} samples, {} steps an epoch)", data.train->describe(),
           data.train->size(), plan.sampler.steps_per_epoch());
  log.info("model: {} parameters", model->parameters().elements());
  if (given && !given->empty()) {
    for (const std::string& line : given->describe()) log.info("{}", line);
    for (const std::string& key : loaded.overruled) log.info("{}", key);
  }
  for (const std::string& change : changes)
    log.info("config changed since the checkpoint: {}", change);
  const Evaluators evaluators = registry.make_evaluators(config.eval.metrics);
  if (validation && config.eval.interval > 0 && run.steps_done() < total_steps)
    run.require_watched_metric(*validation, std::cref(*model), evaluators,
                               std::source_location::current());
  const auto sample = [&] {
    const std::int64_t step = trainer.step_number();
    if (sampler == nullptr || step % config.sample.interval != 0) return;
    run.add_text("sample", [&] { return numbered(sampler->texts().texts); });
  };
  train_steps(trainer, *model, train, std::move(plan), validation ? &*validation : nullptr,
              config.eval, evaluators, total_steps, sample);
  return finish_run(session, run.end(), trainer.step_number());
}

/// The loop of a range test. A loss is read a few steps later, when it is long complete.
RateTest run_rate_test(Trainer& trainer, const Model& model, const DataLoader& train, StepPlan plan,
                       const RateRange& range) {
  constexpr std::size_t kReadBehind = 3;
  RateTest out(range.steps);
  std::deque<StepResult> queued;
  const auto read_one = [&] {
    const StepResult step = queued.front();
    queued.pop_front();
    return out.add(range.at(step.number() - 1), step.loss().value());
  };
  Trainer::Steps steps(trainer, train, std::move(plan), range.steps);
  for (const Batch& batch : steps) {
    queued.push_back(trainer.step(batch, model));
    if (queued.size() > kReadBehind && !read_one()) return out;
  }
  while (!queued.empty())
    if (!read_one()) return out;
  return out;
}

std::optional<RateTest> rate_test_of(const LoadedConfig& loaded, const Registry& registry,
                                     const RateRange& range, const Settings& settings,
                                     Session& session) {
  Config config = loaded.config;
  RankRuntime& runtime = session.runtime();
  StartOfRun start = open_start(loaded, registry, {.resume = "none"}, settings, runtime, config);
  start.spec.folder.reset();
  start.spec.options.scheduler = {};
  start.spec.options.learning_rate = [range](std::int64_t step) { return range.at(step); };
  start.spec.options.progress_lines = false;
  start.spec.options.training.on_nonfinite = OnNonfinite::kSkip;
  start.spec.options.training.max_skipped_steps = 0;
  start.spec.options.early_stopping.patience = 0;
  const BatchPlan batch = plan_batch(config.batch, runtime.communicator().size());
  const DataLoader train(start.data.train, loader_options(config, start.data.tokens_per_sample));
  StepPlan plan{batch, training_sampler(config, start.data.train)};
  const std::unique_ptr<Model> model = registry.make_model(config.model, {start.data.vocab_size});
  const InitialValues given(config, registry, *model, start.data.tokenizer, runtime.activity());
  if (!given.empty())
    start.spec.values = [&given](const std::string& name) { return given.value(name); };
  start.spec.options.groups = make_groups(config, registry, *model);
  check_run_memory(config, registry, runtime, start.data, plan);
  Trainer trainer(std::make_unique<Trainer::Parts>(
      session, *model, registry.make_optimizer(config.optimizer), start.spec, std::nullopt));
  RateTest out = run_rate_test(trainer, *model, train, std::move(plan), range);
  const bool stopped = trainer.stopped();
  runtime.activity().begin(Phase::kFinish, trainer.step_number());
  runtime.finish();
  if (stopped) return std::nullopt;
  return out;
}

}  // namespace

std::optional<RateTest> test_rates(const LoadedConfig& config, const Registry& registry,
                                   const RateRange& range, const Settings& settings, Watch& watch) {
  watch.set_limits(watch_limits(config.config));
  std::unique_ptr<Communicator> communicator = make_communicator(config.config, settings, watch);
  watch.activity().begin(Phase::kAgree);
  agree_on_task(*communicator, config.config, registry, {.command = "lr-find"}, settings);
  check_batch(config, communicator->size());
  watch.activity().begin(Phase::kPrepare);
  Session session(std::make_unique<RankRuntime>(config.config, settings, std::move(communicator),
                                                watch, TimeKept::kReal));
  return rate_test_of(config, registry, range, settings, session);
}

int train(const LoadedConfig& config, const Registry& registry, const TrainOptions& options,
          const Settings& settings, Watch& watch) {
  watch.set_limits(watch_limits(config.config));
  std::unique_ptr<Communicator> communicator = make_communicator(config.config, settings, watch);
  watch.activity().begin(Phase::kAgree);
  agree_on_task(*communicator, config.config, registry,
                {.command = "train",
                 .dry_run = options.dry_run,
                 .resume = options.resume.value_or(config.config.checkpoint.resume)},
                settings);
  check_batch(config, communicator->size());
  watch.activity().begin(Phase::kPrepare);
  Session session(std::make_unique<RankRuntime>(config.config, settings, std::move(communicator),
                                                watch, TimeKept::kVirtual));
  return session.with_history(
      [&] { return run_training(config, registry, options, settings, session); });
}

}  // namespace lockstep
