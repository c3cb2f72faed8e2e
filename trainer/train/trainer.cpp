#include "trainer/train/trainer.h"

#include <fmt/ranges.h>

#include <exception>
#include <limits>

#include "core/base/build_id.h"
#include "core/base/error.h"
#include "trainer/config/load.h"
#include "trainer/hub/pretrained.h"
#include "trainer/job/agreement.h"
#include "trainer/registry/registry.h"
#include "trainer/run/prepare_folder.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_history.h"
#include "trainer/run/saved_texts.h"
#include "trainer/train/option_keys.h"
#include "trainer/train/trainer_parts.h"

namespace lockstep {
namespace {

/// Error kOutOfMemory, before a value is drawn or read, for a model that does not fit with any
/// batch size.
void check_state_fits(TrainingState& state, double memory_gb, SettingsOf of) {
  const auto needed = static_cast<double>(state_bytes(state));
  if (needed <= memory_gb * 0x1p30) return;
  raise(ErrorKind::kOutOfMemory,
        "the model does not fit the device: {} for {} parameters and {} optimizer slots of each "
        "pass the limit of {} ({}){}",
        format_bytes(needed), state.module.parameters().elements(), state.slots.size(),
        format_bytes(memory_gb * 0x1p30), setting_name(of, "device.memory_gb"),
        of == SettingsOf::kConfig ? "; lockstep train --dry-run shows what a step needs" : "");
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
    begin_state(state, engine, runtime.communicator(), spec.options.seed, spec.values);
  } else {
    const std::vector<std::string> fresh = restore(state, engine, *saved);
    if (!fresh.empty())
      runtime.log().info(
          "{} parameters were not trained before, such as '{}': their optimizer state begins at "
          "zero",
          fresh.size(), fresh.front());
  }
  warn_of_other_processors(state.progress, runtime);
  make_state_finite(state, engine);
  make_copies(state, engine);
}

/// A checked state, before it has values.
TrainingState make_state(Module& module, Optimizer optimizer, const RunSpec& spec,
                         RankRuntime& runtime) {
  const bool bf16 = spec.options.training.precision == Precision::kBf16Mixed;
  TrainingState out(module, std::move(optimizer), bf16 ? DType::kBF16 : DType::kF32,
                    spec.options.groups, spec.options.training.ema);
  check_state_fits(out, runtime.config().device.memory_gb, spec.settings_of);
  return out;
}

/// A new run that failed early may have moved aside a run that the user wants to resume.
std::string where_else(const RunFolder& folder, SettingsOf of) {
  const std::string moved = find_moved_run(folder);
  if (moved.empty()) return "";
  return fmt::format(" (an earlier run is in {}: {})", moved, resume_setting(of, moved));
}

/// What the run's history says of this job.
RunLife life_of(RankRuntime& runtime, const SharedCheckpoint* saved) {
  const Topology& topology = runtime.communicator().topology();
  RunLife out{.step = saved == nullptr ? 0 : saved->trainer().step,
              .ranks = topology.size(),
              .threads = runtime.config().device.threads,
              .instruction_set = name_of(runtime.instruction_set().target),
              .processors = runtime.instruction_set().cpu_models,
              .version = LOCKSTEP_VERSION,
              .build = build_id().hex()};
  for (int node = 0; node < topology.nodes(); ++node)
    out.hosts.push_back(topology.host_of(topology.ranks_of(node)[0]));
  return out;
}

RunLock prepare(Session& session, TrainingState& state, const RunSpec& spec,
                const SharedCheckpoint* saved) {
  RankRuntime& runtime = session.runtime();
  const bool resumes_newest = spec.options.checkpoint.resume == "auto";
  // A resume that is refused leaves the folder as it was.
  if (saved != nullptr) check_saved_fits(state, *saved);
  RunLock lock;
  if (spec.folder) {
    const EarlierRun earlier = saved != nullptr ? EarlierRun::kGoesOn
                               : resumes_newest ? EarlierRun::kIsRefused
                                                : EarlierRun::kMovesAside;
    lock = prepare_folder({*spec.folder, spec.config_text, earlier, spec.settings_of},
                          runtime.communicator(), runtime.activity(), runtime.log());
    runtime.log_to(spec.folder->path);
    if (runtime.is_master())
      session.history().begin(spec.folder->path, life_of(runtime, saved), runtime.log());
    if (saved != nullptr && runtime.is_master() && !resumes_newest)
      leave_later_states(*spec.folder, saved->path(), saved->trainer().step, runtime.log());
  }
  if (saved != nullptr)
    runtime.log().info("resuming from {} at step {}", saved->path(), saved->trainer().step);
  else if (spec.folder && resumes_newest)
    runtime.log().info("nothing to resume in {}: starting a new run{}", spec.folder->path,
                       where_else(*spec.folder, spec.settings_of));
  start_state(state, runtime, spec, saved);
  return lock;
}

/// The terms of a program: its options, optimizer and module.
std::vector<Term> terms_of(const TrainerOptions& options, const Module& module,
                           const Optimizer& optimizer) {
  std::vector<Term> out = terms_of(options);
  const auto add = [&](std::string key, const auto& value) {
    out.push_back({std::move(key), fmt::format("{}", value)});
  };
  add("learning_rate", optimizer.learning_rate());
  if (options.learning_rate) add("learning_rate of step 0", options.learning_rate(0));
  add("optimizer slots", fmt::format("{}", fmt::join(optimizer.slots(), " ")));
  for (const auto& [group, rule] : options.groups)
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
  std::optional<SharedCheckpoint> saved;
};

RunStart start_of(Session& session, const Module& module, const Optimizer& optimizer,
                  TrainerOptions options) {
  check_options(options);
  RankRuntime& runtime = session.runtime();
  const std::vector<Term> terms = terms_of(options, module, optimizer);
  require_agreement(runtime.communicator(), terms, ErrorKind::kUsage);
  options.early_stopping = with_mode(options.early_stopping, Registry());
  RunStart out;
  out.spec.settings_of = SettingsOf::kProgram;
  out.spec.config_text = text_of(terms);
  if (!options.run.empty()) out.spec.folder = run_folder(options.run);
  out.saved =
      find_start(options.checkpoint.resume, out.spec.folder.value_or(RunFolder{}),
                 runtime.communicator(), runtime.activity(), runtime.log(), out.spec.settings_of);
  if (!out.saved && !options.init_from.empty()) {
    const ForeignCall call(runtime.activity(), "reading the weights");
    const auto given = std::make_shared<const Pretrained>(
        open_weights(options.init_from), HubFormat(), module,
        FitOptions{.strict = options.strict, .lenient = "TrainerOptions::strict = false"});
    out.spec.values = [given](const std::string& name) { return given->value(name); };
    for (const std::string& line : given->describe()) runtime.log().info("{}", line);
  }
  out.spec.options = std::move(options);
  return out;
}

}  // namespace

Trainer::Parts::Parts(Session& session_, Module& module, Optimizer optimizer, RunSpec spec,
                      std::optional<SharedCheckpoint> saved)
    : session(session_),
      claim(session.runtime().claim_for_training(module)),
      state(make_state(module, std::move(optimizer), spec, session.runtime())),
      lock(prepare(session, state, spec, saved ? &*saved : nullptr)),
      run(session.runtime(), state, std::move(spec), saved ? saved->path() : "") {}

StepPlan Trainer::Parts::plan(const DataLoader& data) const {
  RankRuntime& runtime = open_session().runtime();
  return plan_steps(data, run.spec().options.seed, runtime.config().batch.deterministic,
                    runtime.communicator().size());
}

Trainer::Trainer(Session& session, Module& module, Optimizer optimizer, TrainerOptions options) {
  RunStart start = start_of(session, module, optimizer, std::move(options));
  parts_ = std::make_unique<Parts>(session, module, std::move(optimizer), std::move(start.spec),
                                   std::move(start.saved));
  session.runtime().activity().begin(Phase::kProgram);
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
  parts_->session.runtime().activity().begin(Phase::kProgram);
  if (out) return out->metrics;
  parts_->run.end_early();
  raise(ErrorKind::kPreempted, "asked to stop in an evaluation at step {}", step_number());
}

void Trainer::save() {
  parts_->open_session();
  parts_->run.save();
  parts_->session.runtime().activity().begin(Phase::kProgram);
}

std::int64_t Trainer::step_number() const {
  return parts_->run.steps_done();
}

bool Trainer::stopped() const {
  const RunEnd end = parts_->run.end();
  return end == RunEnd::kPreempted || end == RunEnd::kUnsaved;
}

Trainer::Steps::Steps(Trainer& trainer, const DataLoader& data, std::int64_t total)
    : Steps(trainer, data, trainer.parts_->plan(data), total) {}

Trainer::Steps::Steps(Trainer& trainer, const DataLoader& data, StepPlan plan, std::int64_t total)
    : trainer_(trainer), exceptions_(std::uncaught_exceptions()) {
  trainer.parts_->run.begin(data, std::move(plan), total);
}

Trainer::Steps::~Steps() {
  Parts& parts = *trainer_.parts_;
  const bool failed = std::uncaught_exceptions() > exceptions_;
  if (failed)
    parts.run.keep_last_save();
  else
    parts.run.stop_feeding();
  const RunEnd end = parts.run.end();
  parts.session.history().end(failed && end == RunEnd::kRunning ? kFailedJob : name_of(end),
                              parts.run.steps_done());
}

void Trainer::Steps::advance() {
  Parts& parts = *trainer_.parts_;
  batch_ = parts.run.next();
  if (batch_ != nullptr) return;
  parts.session.runtime().activity().begin(Phase::kProgram);
  parts.session.flush_lines(true);
  if (!trainer_.stopped()) return;
  parts.session.set_exit_code(static_cast<int>(ErrorKind::kPreempted));
  if (parts.run.end() == RunEnd::kPreempted)
    parts.session.runtime().log().info("asked to stop: saved step {}; continue with {}",
                                       trainer_.step_number(), parts.run.spec().how_to_resume());
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
