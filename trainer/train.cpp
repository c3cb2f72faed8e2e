#include "trainer/train.h"

#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "checkpoint/commit.h"
#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "core/base/error.h"
#include "trainer/agreement.h"
#include "trainer/config/show.h"
#include "trainer/data_agreement.h"
#include "trainer/dry_run.h"
#include "trainer/from_config.h"
#include "trainer/models/model.h"
#include "trainer/run_lock.h"
#include "trainer/saved_texts.h"
#include "trainer/telemetry/ledger_file.h"
#include "trainer/training_loop.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLedgerCommands = 20;  ///< lines of longest commands that are printed

/// Where the files of a run lie.
struct RunFolder {
  std::string path;
  std::string checkpoints;
};

/// A symbolic link to a run's folder is that folder: it is what is locked and moved aside.
RunFolder run_folder(const Config& config) {
  fs::path path = fs::path(config.run.dir) / config.run.name;
  std::error_code error;
  if (fs::is_symlink(path, error)) {
    const fs::path target = fs::canonical(path, error);
    if (!error) path = target;
  }
  return {path.string(), (path / "checkpoints").string()};
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The checkpoint to start from, found and read by rank 0 for all; nothing to start anew.
std::optional<SharedCheckpoint> choose_checkpoint(const std::string& resume,
                                                  const RunFolder& folder,
                                                  Communicator& communicator, Activity activity,
                                                  Log& log) {
  return SharedCheckpoint::open(communicator, [&]() -> std::optional<CheckpointReader> {
    const ForeignCall call(activity, "reading the checkpoints");
    if (resume == "none") return std::nullopt;
    if (resume != "auto") return open_checkpoint(resume);
    FoundCheckpoint found = find_newest(folder.checkpoints);
    // Whoever has checkpoints and asks to resume does not mean to begin again.
    if (!found.newest && !found.skipped.empty())
      raise(ErrorKind::kCheckpoint, "{}",
            describe_skipped(folder.checkpoints, found.skipped,
                             " (to start anew all the same, leave out --resume or set "
                             "checkpoint.resume=none)"));
    for (const SkippedCheckpoint& skipped : found.skipped)
      log.warn("skipped {}: {}", skipped.path, skipped.reason);
    return std::move(found.newest);
  });
}

/// A new run does not mix with an old one of its name: the old one is moved aside.
void move_old_run(const RunFolder& folder, Log& log) {
  if (list_checkpoints(folder.checkpoints).empty()) return;
  int number = 1;
  while (fs::exists(fmt::format("{}.{}", folder.path, number))) ++number;
  const std::string aside = fmt::format("{}.{}", folder.path, number);
  fs::rename(folder.path, aside);
  log.info("{} holds an earlier run, which was moved to {}; use --resume to continue a run",
           folder.path, aside);
}

RunLock prepare_folder(const RunFolder& folder, const Config& config, bool fresh, Log& log) {
  RunLock lock;
  try {
    fs::create_directories(folder.path);
    lock = RunLock(folder.path);
    if (fresh) move_old_run(folder, log);
    fs::create_directories(folder.checkpoints);
    std::ofstream file(fs::path(folder.path) / "config.yaml");
    file << config_yaml(config);
    file.close();
    if (!file) raise_errno(ErrorKind::kUsage, "cannot write " + folder.path + "/config.yaml");
  } catch (const fs::filesystem_error& e) {
    raise(ErrorKind::kUsage, "cannot prepare the run folder {} (run.dir, run.name): {}",
          folder.path, e.code().message());
  }
  remove_unfinished_checkpoints(folder.checkpoints, log);
  return lock;
}

/// Rank 0 makes the folder and holds its lock; the others learn whether it worked.
RunLock prepare_folder_on_master(const RunFolder& folder, const Config& config, bool fresh,
                                 Communicator& communicator, Activity activity, Log& log) {
  RunLock lock;
  std::string problem;
  if (communicator.is_master_ordinal()) {
    const ForeignCall call(activity, "preparing the run folder");
    try {
      lock = prepare_folder(folder, config, fresh, log);
    } catch (const Error& e) {
      problem = e.what();
    }
  }
  problem = communicator.exchange("run folder", problem)[0];
  if (!problem.empty()) raise(ErrorKind::kUsage, "{}", problem);
  return lock;
}

std::int64_t count_steps(const TrainingConfig& training, const StepSampler& sampler) {
  std::int64_t total = training.max_steps;
  if (training.max_epochs >= 0) {
    const std::int64_t steps = training.max_epochs * sampler.steps_per_epoch();
    total = total < 0 ? steps : std::min(total, steps);
  }
  LS_USER_CHECK(total >= 0, "neither training.max_steps nor training.max_epochs limits the run");
  return total;
}

/// What differs from the config that the checkpoint was saved with.
void log_config_changes(const SharedCheckpoint& saved, const Config& config, Log& log) {
  try {
    const Config before = parse_config(saved.config_yaml(), "the checkpoint's config").config;
    for (const std::string& change : config_diff(before, config))
      log.info("config changed since the checkpoint: {}", change);
  } catch (const Error& e) {
    log.warn("the checkpoint's config cannot be compared: {}", e.what());
  }
}

/// Error kOutOfMemory, before a value is drawn or read, for a model that cannot fit whatever the
/// batch.
void check_state_fits(TrainingState& state, const Config& config) {
  const auto needed = static_cast<double>(state_bytes(state));
  if (needed <= config.device.memory_gb * 0x1p30) return;
  raise(ErrorKind::kOutOfMemory,
        "the model does not fit the device: {} for {} parameters and {} optimizer slots of each "
        "pass the limit of {} (device.memory_gb); lockstep train --dry-run shows what a step needs",
        format_bytes(needed), state.module.parameters().elements(), state.optimizer.slots().size(),
        format_bytes(config.device.memory_gb * 0x1p30));
}

/// A run that goes on elsewhere is as good, but its bits are no longer those that it would have
/// had.
void warn_of_other_processors(TrainerState& progress, Session& session) {
  const InstructionSet& set = session.instruction_set();
  const std::string name = name_of(set.target);
  const std::string models = fmt::format("{}", fmt::join(set.cpu_models, "; "));
  const auto compare = [&](std::string& saved, const std::string& now, const char* what) {
    if (!saved.empty() && saved != now)
      session.log().warn(
          "the checkpoint was trained with {} {}, and goes on with {}: its hash will not be that "
          "of "
          "an uninterrupted run",
          what, saved, now);
    saved = now;
  };
  compare(progress.instruction_set, name, "instruction set");
  compare(progress.cpu_models, models, "processors");
}

void start_state(TrainingState& state, Session& session, const Config& config,
                 const SharedCheckpoint* saved, const std::string& digest) {
  Engine& engine = session.engine();
  if (saved == nullptr) {
    const ForeignCall call(session.watch().activity(), "drawing the parameters");  // uncounted
    begin_state(state, engine, session.communicator(), static_cast<std::uint64_t>(config.run.seed));
  } else {
    restore(state, engine, *saved, true);
    if (saved->trainer().dataset_digest != digest)
      session.log().warn("the training data differs from what the checkpoint was trained on");
  }
  state.progress.dataset_digest = digest;
  warn_of_other_processors(state.progress, session);
  make_sound(state, engine);
  make_copies(state, engine);
}

void log_run(const Config& config, Session& session, const BatchPlan& batch) {
  Log& log = session.log();
  const std::string fallback = describe_fallback(config, session.instruction_set().target);
  if (!fallback.empty()) log.info("{}", fallback);
  log.info("{}", batch.to_string());
  const Topology& topology = session.communicator().topology();
  if (topology.size() > 1)
    log.info("{}", describe_placement(topology, config.training.deterministic));
}

/// For data that was not compared in full; null if nothing is to be compared while ranks train.
std::unique_ptr<DataWatch> watch_data(const DatasetPtr& data, const Config& config,
                                      const Communicator& communicator, Log& log) {
  const std::int64_t interval = config.distributed.check_interval;
  if (communicator.size() == 1 || interval == 0) return nullptr;
  log.info("one more sample is compared between the ranks every {} steps", interval);
  return std::make_unique<DataWatch>(data, static_cast<std::uint64_t>(config.run.seed), interval,
                                     communicator.topology());
}

int run_training(const LoadedConfig& loaded, const TrainOptions& options, const Settings& settings,
                 std::unique_ptr<Communicator> owned, Watch& watch) {
  const Activity activity = watch.activity();
  const Config& config = loaded.config;
  const RunFolder folder = run_folder(config);
  Communicator& communicator = *owned;
  const BatchPlan batch = plan_batch(loaded, communicator.size());
  Log early_log({.console = communicator.is_master_ordinal(), .file = {}, .debug = 0});

  activity.begin(Phase::kPrepare);
  const std::string resume = options.resume.value_or(config.checkpoint.resume);
  std::optional<SharedCheckpoint> saved;
  if (!options.dry_run)
    saved = choose_checkpoint(resume, folder, communicator, activity, early_log);
  if (saved) check_saved_tokenizer(saved->trainer().tokenizer, saved->path());
  activity.begin(Phase::kAgree);
  const bool same_files = agree_on_files(
      communicator, config, {.cache_folder = cache_folder(config, settings), .activity = activity},
      early_log);
  activity.begin(Phase::kData);
  const DataSource data = [&] {
    const ForeignCall call(activity, "opening the data");
    return open_data(config, saved ? saved->trainer().tokenizer : "");
  }();
  agree_on_datasets(communicator, data);
  activity.begin(Phase::kPrepare);
  const StepSampler sampler(static_cast<std::uint64_t>(config.run.seed), data.train->size(),
                            batch.global_batch, config.data.shuffle);
  const std::int64_t total_steps = count_steps(config.training, sampler);
  const std::unique_ptr<Model> model = make_model(config.model, data.vocab_size);
  TrainingState state = make_training_state(config, *model);

  if (options.dry_run) {
    Session session(config, settings, std::move(owned), "", watch);
    const DryRun dry = describe_dry_run(config, session, state, std::cref(*model), data, batch);
    if (session.is_master()) fmt::print("{}", dry.text);
    session.finish();
    return dry.fits ? 0 : static_cast<int>(ErrorKind::kOutOfMemory);
  }

  check_state_fits(state, config);
  const RunLock lock =
      prepare_folder_on_master(folder, config, !saved, communicator, activity, early_log);
  Session session(config, settings, std::move(owned), folder.path, watch);
  Log& log = session.log();
  log_run(config, session, batch);
  log.info("training data: {} ({} samples, {} steps an epoch)", data.train->describe(),
           data.train->size(), sampler.steps_per_epoch());
  const std::unique_ptr<DataWatch> data_watch =
      same_files ? nullptr : watch_data(data.train, config, communicator, log);
  log.info("model: {} parameters", state.module.parameters().elements());
  if (resume == "auto" && !saved) log.info("nothing to resume in {}: starting anew", folder.path);
  if (saved) {
    log.info("resuming from {} at step {}", saved->path(), saved->trainer().step);
    log_config_changes(*saved, config, log);
  }
  start_state(state, session, config, saved ? &*saved : nullptr, data.train->digest());
  state.progress.tokenizer = data.tokenizer == nullptr ? "" : data.tokenizer->serialize();

  std::optional<Telemetry> telemetry;
  if (session.is_master())
    telemetry.emplace(Telemetry::Start{.run_folder = folder.path,
                                       .resumed_step = saved ? state.progress.step : -1,
                                       .total_steps = total_steps,
                                       .wall_time = unix_time()},
                      config.logging, session.clock(), log);
  if (config.profile.ledger) session.engine().start_ledger();
  const bool resumed = saved.has_value();
  saved.reset();
  TrainingLoop loop({.config = config,
                     .session = session,
                     .state = state,
                     .loss = std::cref(*model),
                     .data = data,
                     .batch = batch,
                     .sampler = sampler,
                     .total_steps = total_steps,
                     .checkpoint_folder = folder.checkpoints,
                     .telemetry = telemetry ? &*telemetry : nullptr,
                     .resumed = resumed,
                     .data_watch = data_watch.get()});
  const LoopEnd end = loop.run();
  watch.on_stop(OnStop::kEnd);
  if (end == LoopEnd::kPreempted)  // now: a hurried mpirun may not let the ranks come to the end
    log.info("asked to stop: saved step {}; continue with --resume", state.progress.step);
  activity.begin(Phase::kFinish, state.progress.step);
  session.finish();
  if (const Ledger* ledger = session.engine().ledger()) {
    log.info("{}", ledger->table(kLedgerCommands));
    if (session.is_master()) write_ledger(folder.path + "/ledger.json", *ledger, log);
  }
  if (config.profile.metrics_report) log.info("metrics\n{}", session.metrics().report());
  switch (end) {
    case LoopEnd::kFinished: log.info("finished at step {}", state.progress.step); return 0;
    case LoopEnd::kEarlyStopping: return 0;
    case LoopEnd::kPreempted:
    case LoopEnd::kUnsaved: return static_cast<int>(ErrorKind::kPreempted);
  }
  __builtin_unreachable();
}

}  // namespace

int train(const LoadedConfig& config, const TrainOptions& options, const Settings& settings,
          Watch& watch) {
  watch.set_limits(watch_limits(config.config));
  std::unique_ptr<Communicator> communicator = make_communicator(config.config, settings, watch);
  watch.activity().begin(Phase::kAgree);
  agree_on_task(*communicator, config.config,
                {.command = "train",
                 .dry_run = options.dry_run,
                 .resume = options.resume.value_or(config.config.checkpoint.resume)},
                settings);
  return run_training(config, options, settings, std::move(communicator), watch);
}

}  // namespace lockstep
