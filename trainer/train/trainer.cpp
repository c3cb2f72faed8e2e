#include "trainer/train/trainer.h"

#include <fmt/ranges.h>

#include <cmath>
#include <exception>
#include <limits>

#include "core/base/error.h"
#include "trainer/job/agreement.h"
#include "trainer/run/saved_texts.h"
#include "trainer/train/trainer_parts.h"

namespace lockstep {
namespace {

/// Error kOutOfMemory, before a value is drawn or read, for a model that does not fit with any
/// batch size.
void check_state_fits(TrainingState& state, const Config& config) {
  const auto needed = static_cast<double>(state_bytes(state));
  if (needed <= config.device.memory_gb * 0x1p30) return;
  raise(ErrorKind::kOutOfMemory,
        "the model does not fit the device: {} for {} parameters and {} optimizer slots of each "
        "pass the limit of {} (device.memory_gb); lockstep train --dry-run shows what a step needs",
        format_bytes(needed), state.module.parameters().elements(), state.optimizer.slots().size(),
        format_bytes(config.device.memory_gb * 0x1p30));
}

/// A run that resumes on other hardware is valid, but its bits differ from those of an
/// uninterrupted run.
void warn_of_other_processors(TrainerState& progress, RankRuntime& runtime) {
  const InstructionSet& set = runtime.instruction_set();
  const auto compare = [&](std::string& saved, const std::string& now, const char* what) {
    if (!saved.empty() && saved != now)
      runtime.log().warn(
          "the checkpoint was trained with {} {}, and continues with {}: its hash will not be that "
          "of an uninterrupted run",
          what, saved, now);
    saved = now;
  };
  compare(progress.instruction_set, name_of(set.target), "instruction set");
  compare(progress.cpu_models, fmt::format("{}", fmt::join(set.cpu_models, "; ")), "processors");
}

void start_state(TrainingState& state, RankRuntime& runtime, const RunSpec& spec,
                 const SharedCheckpoint* saved) {
  Engine& engine = runtime.engine();
  if (saved == nullptr) {
    const ForeignCall call(runtime.activity(), "drawing the parameters");  // uncounted
    begin_state(state, engine, runtime.communicator(),
                static_cast<std::uint64_t>(spec.config.run.seed), spec.values);
  } else {
    restore(state, engine, *saved, true);
  }
  warn_of_other_processors(state.progress, runtime);
  make_state_finite(state, engine);
  make_copies(state, engine);
}

/// A checked state, before it has values.
TrainingState make_state(Module& module, Optimizer optimizer, OptimizerGroups groups,
                         const Config& config) {
  const bool bf16 = config.training.precision == Precision::kBf16Mixed;
  TrainingState out(module, std::move(optimizer), bf16 ? DType::kBF16 : DType::kF32,
                    std::move(groups));
  check_state_fits(out, config);
  return out;
}

/// A new run that failed early may have moved aside a run that the user wants to resume.
std::string where_else(const RunFolder& folder) {
  const std::string moved = find_moved_run(folder);
  return moved.empty() ? "" : fmt::format(" (an earlier run is in {}: --resume={})", moved, moved);
}

RunLock prepare(Session& session, TrainingState& state, const RunSpec& spec,
                const SharedCheckpoint* saved) {
  RankRuntime& runtime = session.runtime();
  RunLock lock;
  if (spec.folder) {
    const EarlierRun earlier = saved != nullptr                          ? EarlierRun::kGoesOn
                               : spec.config.checkpoint.resume == "auto" ? EarlierRun::kIsRefused
                                                                         : EarlierRun::kMovesAside;
    lock = prepare_folder(*spec.folder, spec.config_text, earlier, runtime.communicator(),
                          runtime.activity(), runtime.log());
    runtime.log_to(spec.folder->path);
    if (saved != nullptr && runtime.is_master() && spec.config.checkpoint.resume != "auto")
      leave_later_states(*spec.folder, saved->path(), saved->trainer().step, runtime.log());
  }
  if (saved != nullptr)
    runtime.log().info("resuming from {} at step {}", saved->path(), saved->trainer().step);
  else if (spec.folder && spec.config.checkpoint.resume == "auto")
    runtime.log().info("nothing to resume in {}: starting a new run{}", spec.folder->path,
                       where_else(*spec.folder));
  start_state(state, runtime, spec, saved);
  return lock;
}

/// The options as a config, whose sections the run uses.
Config config_of(const TrainerOptions& o, const Config& session) {
  Config out = session;
  out.run.seed = static_cast<std::int64_t>(o.seed);
  out.training.precision = o.bf16 ? Precision::kBf16Mixed : Precision::kFp32;
  out.training.gradient_clip_norm = o.gradient_clip_norm;
  out.training.on_nonfinite =
      o.on_nonfinite == OnNonFinite::kStop ? OnNonfinite::kStop : OnNonfinite::kSkip;
  out.training.max_skipped_steps = o.max_skipped_steps;
  switch (o.schedule.policy) {
    case SchedulePolicy::kConstant: out.scheduler.name = SchedulerName::kConstant; break;
    case SchedulePolicy::kLinear: out.scheduler.name = SchedulerName::kLinear; break;
    case SchedulePolicy::kCosine: out.scheduler.name = SchedulerName::kCosine; break;
  }
  out.scheduler.warmup_steps = o.schedule.warmup_steps;
  out.scheduler.min_lr = o.schedule.min_lr;
  out.scheduler.decay_steps = o.schedule.decay_steps;
  out.early_stopping.patience = o.patience;
  out.early_stopping.metric = o.best_metric;
  out.early_stopping.mode = o.best_is_max ? BetterMetric::kMax : BetterMetric::kMin;
  const bool resumes = o.resume == Resume::kAuto;
  out.checkpoint.resume = !o.resume_from.empty() ? o.resume_from : resumes ? "auto" : "none";
  out.checkpoint.save_interval = o.save_interval;
  out.checkpoint.keep_last = o.keep_last;
  out.checkpoint.keep_best = o.keep_best;
  out.logging.interval = o.log_interval;
  return out;
}

void check_options(const TrainerOptions& o) {
  LS_USER_CHECK(o.save_interval >= -1, "save_interval {} must be -1 (never) or more",
                o.save_interval);
  LS_USER_CHECK(o.keep_last >= 1, "keep_last {} must be at least 1", o.keep_last);
  LS_USER_CHECK(o.log_interval >= 1, "log_interval {} must be at least 1", o.log_interval);
  LS_USER_CHECK(std::isfinite(o.gradient_clip_norm) && o.gradient_clip_norm >= 0,
                "gradient_clip_norm {} must be 0 (no clipping) or more", o.gradient_clip_norm);
  LS_USER_CHECK(o.max_skipped_steps >= 0 && o.patience >= 0,
                "max_skipped_steps {} and patience {} must not be negative", o.max_skipped_steps,
                o.patience);
  const bool uses_folder = o.save_interval > 0 || o.keep_best || o.resume == Resume::kAuto;
  LS_USER_CHECK(!o.run.empty() || !uses_folder,
                "save_interval, keep_best and resume need a folder: give TrainerOptions::run");
}

/// The settings that checkpoints store as the config and that ranks must have in common, one per
/// line.
std::vector<Term> terms_of(const TrainerOptions& o, const Module& module,
                           const Optimizer& optimizer) {
  std::vector<Term> out;
  const auto add = [&](std::string key, const auto& value) {
    out.push_back({std::move(key), fmt::format("{}", value)});
  };
  add("seed", o.seed);
  add("save_interval", o.save_interval);
  add("keep_best", o.keep_best);
  add("bf16", o.bf16);
  add("gradient_clip_norm", o.gradient_clip_norm);
  add("on_nonfinite", o.on_nonfinite == OnNonFinite::kStop ? "stop" : "skip");
  add("max_skipped_steps", o.max_skipped_steps);
  add("schedule.policy", static_cast<int>(o.schedule.policy));
  add("schedule.warmup_steps", o.schedule.warmup_steps);
  add("schedule.min_lr", o.schedule.min_lr);
  add("schedule.decay_steps", o.schedule.decay_steps);
  add("best_metric", o.best_metric);
  add("patience", o.patience);
  add("learning_rate", optimizer.learning_rate());
  add("optimizer slots", fmt::format("{}", fmt::join(optimizer.slots(), " ")));
  for (const auto& [group, rule] : o.groups)
    add("learning_rate of group " + group, rule.learning_rate());
  for (const Parameter& p : module.parameters().all())
    add(p.name, fmt::format("{}{}{}", p.shape.to_string(), p.trainable ? "" : " not trained",
                            p.group.empty() ? "" : " in group " + p.group));
  for (const ModuleBuffer& b : module.buffers().all())
    add(b.name, fmt::format("buffer {}{}", name_of(b.dtype()), b.shape().to_string()));
  return out;
}

std::string text_of(const std::vector<Term>& terms) {
  std::string out(kOfAProgram);
  for (const Term& term : terms) out += fmt::format("  {}: {}\n", term.key, term.value);
  return out;
}

struct RunStart {
  RunSpec spec;
  OptimizerGroups groups;
  std::optional<SharedCheckpoint> saved;
};

RunStart start_of(Session& session, const Module& module, const Optimizer& optimizer,
                  const TrainerOptions& options) {
  check_options(options);
  RankRuntime& runtime = session.runtime();
  const std::vector<Term> terms = terms_of(options, module, optimizer);
  require_agreement(runtime.communicator(), terms, ErrorKind::kUsage);
  RunStart out;
  out.spec.config = config_of(options, runtime.config());
  out.spec.config_text = text_of(terms);
  out.spec.console = options.progress_lines;
  out.spec.how_to_resume = "Resume::kAuto";
  out.groups = options.groups;
  if (!options.run.empty()) out.spec.folder = run_folder(options.run);
  if (const std::string& resume = out.spec.config.checkpoint.resume; resume != "none")
    out.saved = choose_checkpoint(resume, out.spec.folder.value_or(RunFolder{}),
                                  runtime.communicator(), runtime.activity(), runtime.log());
  return out;
}

std::unique_ptr<Trainer::Parts> make_parts(Session& session, Module& module, Optimizer optimizer,
                                           RunStart start) {
  return std::make_unique<Trainer::Parts>(session, module, std::move(optimizer),
                                          std::move(start.groups), std::move(start.spec),
                                          std::move(start.saved));
}

}  // namespace

Trainer::Parts::Parts(Session& session_, Module& module, Optimizer optimizer,
                      OptimizerGroups groups, RunSpec spec, std::optional<SharedCheckpoint> saved)
    : session(session_),
      claim(session.runtime().claim_for_training(module)),
      state(make_state(module, std::move(optimizer), std::move(groups), spec.config)),
      lock(prepare(session, state, spec, saved ? &*saved : nullptr)),
      run(session.runtime(), state, std::move(spec), saved ? saved->path() : "") {}

Trainer::Trainer(Session& session, Module& module, Optimizer optimizer, TrainerOptions options) {
  RunStart start = start_of(session, module, optimizer, options);
  parts_ = make_parts(session, module, std::move(optimizer), std::move(start));
}

Trainer::Trainer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Trainer::~Trainer() = default;

Trainer::Steps Trainer::steps(const DataLoader& data, std::int64_t total) {
  return {*this, data, total};
}

StepResult Trainer::step_loss(const Batch& batch, const LossFunction& loss, bool lasting,
                              const std::source_location& where) {
  Session& session = parts_->open_session();
  StepResult out(parts_->run.step(batch, loss, lasting, where));
  session.flush_lines(false);
  return out;
}

std::optional<Evaluation> Trainer::try_evaluate(const DataLoader& data, const LossFunction& loss,
                                                const Evaluators& evaluators,
                                                const std::string& name,
                                                std::source_location where) {
  Session& session = parts_->open_session();
  std::optional<Evaluation> out = parts_->run.evaluate(data, loss, name, evaluators, where);
  session.flush_lines(false);
  return out;
}

MetricValues Trainer::evaluate_loss(const DataLoader& data, const LossFunction& loss,
                                    const Evaluators& evaluators, const std::string& name,
                                    const std::source_location& where) {
  const std::optional<Evaluation> out = try_evaluate(data, loss, evaluators, name, where);
  if (out) return out->metrics;
  parts_->run.end_early();
  raise(ErrorKind::kPreempted, "asked to stop in an evaluation at step {}", step_number());
}

void Trainer::save() {
  parts_->open_session();
  parts_->run.save();
}

std::int64_t Trainer::step_number() const {
  return parts_->run.steps_done();
}

bool Trainer::stopped() const {
  const RunEnd end = parts_->run.end();
  return end == RunEnd::kPreempted || end == RunEnd::kUnsaved;
}

Trainer::Steps::Steps(Trainer& trainer, const DataLoader& data, std::int64_t total)
    : trainer_(trainer), exceptions_(std::uncaught_exceptions()) {
  trainer.parts_->open_session();
  trainer.parts_->run.begin(data, total);
}

Trainer::Steps::~Steps() {
  if (std::uncaught_exceptions() > exceptions_)
    trainer_.parts_->run.keep_last_save();
  else
    trainer_.parts_->run.stop_feeding();
}

void Trainer::Steps::advance() {
  Parts& parts = *trainer_.parts_;
  batch_ = parts.run.next();
  if (batch_ != nullptr) return;
  parts.session.flush_lines(true);
  if (!trainer_.stopped()) return;
  parts.session.set_exit_code(static_cast<int>(ErrorKind::kPreempted));
  if (parts.run.end() == RunEnd::kPreempted)
    parts.session.runtime().log().info("asked to stop: saved step {}; continue with {}",
                                       trainer_.step_number(), parts.run.spec().how_to_resume);
}

std::int64_t StepResult::number() const {
  return step_->number;
}

double StepNumber::value(std::source_location where) const {
  const std::string what = name_ == "loss"        ? "the loss"
                           : name_ == "grad_norm" ? "the gradient norm"
                                                  : fmt::format("the metric '{}'", name_);
  const StepSummary& summary = step_->read(what, where);
  if (name_ == "loss") return summary.loss;
  if (name_ == "grad_norm") return summary.grad_norm;
  const std::vector<std::string>& names = step_->numbers.metrics;
  LS_USER_CHECK(std::find(names.begin(), names.end(), name_) != names.end(),
                "the step has no metric '{}'; its metrics are: {}", name_, fmt::join(names, ", "));
  const auto found = summary.metrics.find(name_);
  return found == summary.metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

bool StepNumber::is_ready() const {
  return step_->is_ready();
}

}  // namespace lockstep
