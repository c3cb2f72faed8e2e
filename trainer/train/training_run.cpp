#include "trainer/train/training_run.h"

#include <utility>

#include "checkpoint/file_format.h"
#include "core/base/error.h"
#include "core/engine/nonfinite.h"
#include "core/trace/reads.h"
#include "data/samples/digest.h"
#include "trainer/train/nonfinite_value.h"

namespace lockstep {
namespace {

/// Reads all of the data, which may take minutes.
std::string digest_of(const Dataset& dataset, Activity activity) {
  const ForeignCall reading(activity, "digest of the training data");
  return dataset.digest();
}

}  // namespace

const StepSummary& StepOutcome::read(std::string_view name, std::source_location where) {
  if (!summary) {
    const StepNumberRead told(numbers.values.context(), name, number);
    summary = numbers.read(where);
    numbers.values = Tensor();  // memory is reserved only for results of steps in flight
  }
  return *summary;
}

TrainingRun::TrainingRun(RankRuntime& runtime, TrainingState& state, RunSpec spec,
                         const std::string& resumed_from)
    : runtime_(runtime),
      state_(state),
      spec_(std::move(spec)),
      watch_(runtime.watch()),
      activity_(runtime.activity()),
      nonfinite_(spec_.options.training, spec_.settings_of),
      early_stopping_(spec_.options.early_stopping, state.progress, spec_.settings_of),
      skipped_(runtime),
      saves_(spec_, state, runtime, resumed_from),
      resumed_(!resumed_from.empty()),
      first_step_(state.progress.step),
      log_(runtime, spec_, resumed_ ? first_step_ : -1) {
  state_.progress.seed = seed();
  state_.progress.tokenizer = spec_.tokenizer;
  state_.progress.samples = spec_.samples;
  if (const std::string news = early_stopping_.begin(); !news.empty())
    runtime_.log().info("{}", news);
  runtime_.engine().set_step(steps_done());
  if (const std::int64_t interval = runtime_.config().distributed.check_interval; interval > 0)
    runtime_.engine().start_state_check(interval);
}

TrainingRun::~TrainingRun() = default;

void TrainingRun::begin(const DataLoader& data, StepPlan plan, std::int64_t total_steps) {
  LS_USER_CHECK(batches_ == nullptr,
                "steps() was called while the steps of another call were still running");
  plan_ = std::move(plan);
  total_steps_ = total_steps;
  schedule_.emplace(spec_.options.scheduler, state_.optimizer.learning_rate(), total_steps);
  inputs_ = make_step_inputs(runtime_.engine(), first_micro_batch(),
                             plan_->batch.micro_batches_per_rank, seed());
  compare_with_saved_data(*data.dataset());
  log_.begin(
      {.first_step = steps_done(),
       .total_steps = total_steps,
       .steps_per_epoch = steps_per_epoch(),
       .tokens_per_step = plan_->batch.global_batch_size * data.options().tokens_per_sample});
  end_ = RunEnd::kRunning;
  batches_ = std::make_unique<StepBatches>(
      runtime_, data, *plan_, skipped_,
      StepBatches::Options{
          .first_step = steps_done(),
          .end_step = total_steps,
          .compare_interval = spec_.same_data ? 0 : runtime_.config().distributed.check_interval});
}

void TrainingRun::compare_with_saved_data(const Dataset& data) {
  const std::string digest = digest_of(data, activity_);
  if (resumed_ && steps_done() == first_step_ &&
      !is_same_data(state_.progress.dataset_digest, digest)) {
    runtime_.log().warn("the training data differs from that of the checkpoint");
    state_.progress.losses = {};  // losses on other data are not comparable
  }
  state_.progress.dataset_digest = digest;
}

const Batch* TrainingRun::next() {
  LS_USER_CHECK(!step_due_,
                "no step was made of the batch of step {}: call Trainer::step() once for each",
                steps_done());
  LS_CHECK(batches_ != nullptr, "next() without begin()");
  current_.reset();
  // Saves the previous step only now, after its evaluation if there was one, so that a resume from
  // it has nothing left to do.
  if (steps_done() > first_step_ && due(spec_.options.checkpoint.save_interval)) save_now();
  if (steps_done() >= total_steps_ || stop_agreed_ || early_stopping_.ends()) {
    end_run();
    return nullptr;
  }
  if (std::exchange(warned_, false)) tell_warnings();
  current_.emplace(batches_->next(steps_done()));
  step_due_ = true;
  return &*current_;
}

// Between two steps all ranks have queued the same work, and have read the same flags on warnings.
void TrainingRun::tell_warnings() {
  runtime_.engine().wait();
  runtime_.console_warnings().exchange();
}

std::shared_ptr<StepOutcome> TrainingRun::step(const Batch& batch, const LossFunction& loss,
                                               bool lasting, const std::source_location& where) {
  LS_USER_CHECK(step_due_, "a step needs a batch of Trainer::steps(), each one once");
  Engine& engine = runtime_.engine();
  const std::int64_t step = steps_done();
  lasting_loss_ = lasting ? loss : LossFunction();
  UpdateOptions update;
  update.clip_norm = spec_.options.training.gradient_clip_norm;
  update.step = step;
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a step that is due has it
  update.learning_rate = schedule_->learning_rate(step);
  update.stop_requested = watch_.stop_requested();
  update.save_failed = saves_.failed();
  update.warned = runtime_.console_warnings().announce();
  update.stop_at_nonfinite = nonfinite_.stops();
  const auto outcome = std::make_shared<StepOutcome>();
  outcome->number = step + 1;
  {
    const ScopedSpan span(
        runtime_.spans(),
        {.kind = SpanKind::kTrace, .step = step, .correlation = engine.next_correlation()});
    outcome->numbers = record_step(state_, loss, batch, inputs_, update,
                                   {.where = where, .warn = [this](const std::string& warning) {
                                      if (!std::exchange(warned_of_loss_, true))
                                        runtime_.log().warn("{}", warning);
                                    }});
    in_flight_.push_back({step, update, batch, outcome});
    step_due_ = false;
  }
  engine.carry(batches_->take_digest(step));
  engine.mark_step(SyncReason::kStepEnd, where);
  // Before this, no rank can have finished the step, so there was nothing to save.
  watch_.on_stop(spec_.folder ? OnStop::kSave : OnStop::kLeave);
  ++state_.progress.step;
  loss_ = &loss;
  const auto lag = static_cast<std::size_t>(runtime_.config().device.queue_depth);
  if (in_flight_.size() > lag) finish_step();
  loss_ = nullptr;
  return outcome;
}

// Results are read when their step has long been computed, so that reading never waits. Every rank
// reads the same numbers for the same step, and so makes the same decisions.
void TrainingRun::finish_step() {
  const InFlight done = std::move(in_flight_.front());
  in_flight_.pop_front();
  activity_.begin(Phase::kRead, done.step);
  const OwnReads late(runtime_.context());
  const StepSummary& summary = done.outcome->read();
  const StepEvidence evidence{summary.loss, summary.grad_norm};
  // Its first header compared what was saved before it.
  if (done.step == saves_.saved_step()) release_save(evidence);
  saves_.add_step(evidence);
  stop_agreed_ = stop_agreed_ || summary.stop;
  check_finite(done, summary);
  if (summary.save_failed) {
    drain();
    saves_.finish();
  }
  warned_ = warned_ || summary.warned;
  log_.add_step(done.step + 1, done.update.learning_rate, summary);
  finished_step_ = done.step + 1;
}

void TrainingRun::check_finite(const InFlight& done, const StepSummary& summary) {
  const NonFiniteVerdict verdict = nonfinite_.add(summary);
  if (!verdict.warning.empty()) runtime_.log().warn("step {}: {}", done.step, verdict.warning);
  if (verdict.end.empty()) return;
  rule_out_drift();
  const std::string found = verdict.names_value ? name_nonfinite(done) + "; " : "";
  blow_up(fmt::format("step {}: {}{}", done.step, found, verdict.end));
}

// A run that made no step saves nothing: it starts again from the same state.
void TrainingRun::blow_up(const std::string& what) {
  blew_up_ = true;
  const bool made_steps = finished_step_ > first_step_;
  const std::string back = made_steps && spec_.folder ? saves_.go_back_to_good() : "";
  raise(ErrorKind::kNonFinite, "{}{}{}", what, back.empty() ? "" : "; ", back);
}

// The step's parameters and slots are still there: neither it nor the steps queued after it changed
// them.
std::string TrainingRun::name_nonfinite(const InFlight& done) {
  const LossFunction* loss = loss_ != nullptr ? loss_ : lasting_loss_ ? &lasting_loss_ : nullptr;
  if (loss == nullptr) return "the step cannot be run again, because its loss no longer exists";
  activity_.begin(Phase::kTrace, done.step);
  record_step(state_, *loss, done.batch, inputs_, done.update);
  return name_nonfinite_value(runtime_, first_micro_batch());
}

// All ranks have queued the same steps, so that all can finish them.
void TrainingRun::drain() {
  in_flight_.clear();
  runtime_.engine().wait();
  saves_.wait();
}

// The damaged state of one rank makes the numbers of all ranks non-finite: then report that rank.
void TrainingRun::rule_out_drift() {
  drain();
  runtime_.engine().compare_whole_state();
}

// No header follows the last step. If it made a non-finite parameter on one rank only, that rank
// checks for drift, and the others must take part in it.
void TrainingRun::finish_all() {
  if (in_flight_.empty()) return;
  while (!in_flight_.empty()) finish_step();
  runtime_.engine().compare_whole_state();
}

void TrainingRun::end_run() {
  finish_all();
  const bool keeps = spec_.folder.has_value();
  const bool saves =
      keeps && (stop_agreed_ ? saves_.has_time() : spec_.options.checkpoint.save_interval >= 0);
  if (saves) save_now();
  runtime_.engine().compare_whole_state();  // no header follows
  release_save();
  saves_.finish();
  skipped_.end();
  log_.flush();
  batches_.reset();
  end_ = stop_agreed_             ? (saves ? RunEnd::kPreempted : RunEnd::kUnsaved)
         : early_stopping_.ends() ? RunEnd::kEarlyStopping
                                  : RunEnd::kFinished;
  watch_.on_stop(OnStop::kEnd);
}

void TrainingRun::end_early() {
  step_due_ = false;
  current_.reset();
  if (batches_ != nullptr) end_run();
}

void TrainingRun::stop_feeding() {
  runtime_.engine().end_step();
  if (batches_ != nullptr) watch_.on_stop(OnStop::kLeave);  // no save can be requested any more
  step_due_ = false;
  current_.reset();
  batches_.reset();
}

void TrainingRun::save() {
  LS_USER_CHECK(spec_.folder.has_value(),
                "a run without a folder (TrainerOptions::run) cannot save");
  finish_all();
  save_now();
  runtime_.engine().compare_whole_state();
  release_save();
  saves_.finish();
}

void TrainingRun::save_now() {
  if (!spec_.folder || saves_.saved_step() == steps_done()) return;
  // The previous save is released by the step after it.
  while (!in_flight_.empty() && in_flight_.front().step <= saves_.saved_step()) finish_step();
  const ScopedSpan span(runtime_.spans(), SpanKind::kSave, steps_done());
  TrainerState& progress = state_.progress;
  if (plan_) {
    const std::int64_t per_epoch = steps_per_epoch();
    progress.epoch = steps_done() / per_epoch;
    progress.sample_position = steps_done() % per_epoch * plan_->batch.global_batch_size;
    progress.schedule = {std::string(name_of(spec_.options.scheduler.name)),
                         {{"learning_rate", schedule_->learning_rate(steps_done())}}};
  }
  saves_.save();
}

// A resume continues after the saved step, so its metrics must be on file before the checkpoint.
void TrainingRun::release_save(const std::optional<StepEvidence>& next) {
  saves_.judge(next);
  log_.flush();
  saves_.release();
}

// The last save is kept if the steps before it were good, and if a later step has shown that all
// ranks have the same state, or there is only one rank.
void TrainingRun::keep_last_save() {
  batches_.reset();
  if (blew_up_) return;
  try {
    while (!in_flight_.empty() && in_flight_.front().step <= saves_.saved_step()) finish_step();
    const bool alone = !runtime_.engine().checks_state();
    if (alone && finished_step_ == saves_.saved_step()) release_save();
  } catch (...) {
    return;  // not the first error, and so not the one to report
  }
  saves_.wait();
}

}  // namespace lockstep
