#include "trainer/train/training_run.h"

#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/trace/reads.h"
#include "data/samples/digest.h"

namespace lockstep {
namespace {

/// Reads all of the data, which may take minutes.
std::string digest_of(const Dataset& dataset, Activity activity) {
  const ForeignCall reading(activity, "digest of the training data");
  return dataset.digest();
}

bool falls_due(std::int64_t step, std::int64_t interval) {
  return interval > 0 && step % interval == 0;
}

}  // namespace

TrainingRun::TrainingRun(RankRuntime& runtime, TrainingState& state, RunSpec spec,
                         const std::string& resumed_from)
    : runtime_(runtime),
      state_(state),
      spec_(std::move(spec)),
      stops_(runtime.watch(), spec_, state.progress),
      plateau_(spec_.options.scheduler, spec_.options.early_stopping.mode,
               state.optimizer.learning_rate(), state.progress.schedule),
      skipped_(runtime),
      deaths_(runtime, spec_, state.progress.step),
      saves_(spec_, state, runtime, deaths_, resumed_from),
      resumed_(!resumed_from.empty()),
      first_step_(state.progress.step),
      log_(runtime, spec_, resumed_ ? first_step_ : -1),
      in_flight_(runtime),
      nonfinite_(runtime, state, spec_, in_flight_, saves_) {
  state_.progress.seed = spec_.options.seed;
  state_.progress.tokenizer = spec_.tokenizer;
  state_.progress.samples = spec_.samples;
  if (const std::string news = stops_.early_stopping().begin(); !news.empty())
    runtime_.log().info("{}", news);
  runtime_.engine().set_step(steps_done());
  if (const std::int64_t interval = runtime_.config().distributed.check_interval; interval > 0)
    runtime_.engine().start_state_check(interval);
}

void TrainingRun::begin(const DataLoader& data, StepPlan plan, std::int64_t total_steps) {
  LS_USER_CHECK(batches_ == nullptr,
                "steps() was called while the steps of another call were still running");
  requested_ = RequestedSteps(runtime_, spec_, state_.optimizer.learning_rate(), std::move(plan),
                              total_steps);
  compare_with_saved_data(*data.dataset());
  log_.begin({.first_step = steps_done(),
              .total_steps = total_steps,
              .steps_per_epoch = requested_->steps_per_epoch(),
              .tokens_per_step =
                  requested_->plan.batch.global_batch_size * data.options().tokens_per_sample,
              .batch = requested_->plan.batch});
  stops_.begin(total_steps);
  batches_ = std::make_unique<StepBatches>(
      runtime_, data, requested_->plan, skipped_,
      StepBatches::Options{
          .first_step = steps_done(),
          .end_step = total_steps,
          .compare_interval = spec_.same_data ? 0 : runtime_.config().distributed.check_interval});
}

void TrainingRun::compare_with_saved_data(const Dataset& data) {
  const std::string digest = digest_of(data, runtime_.activity());
  if (resumed_ && steps_done() == first_step_ &&
      !is_same_data(state_.progress.dataset_digest, digest)) {
    runtime_.log().warn("the training data differs from that of the checkpoint");
    state_.progress.losses = {};  // losses on other data are not comparable
  }
  state_.progress.dataset_digest = digest;
}

const Batch* TrainingRun::next() {
  LS_USER_CHECK(!is_step_due(),
                "no step was made of the batch of step {}: call Trainer::step() once for each",
                steps_done());
  LS_CHECK(batches_ != nullptr, "next() without begin()");
  batches_->drop();
  // Saves the previous step only now, after its evaluation if there was one, so that a resume from
  // it has nothing left to do.
  if (steps_done() > first_step_ && falls_due(steps_done(), spec_.options.checkpoint.save_interval))
    save_now();
  if (stops_.ends_at(steps_done())) {
    end_run();
    return nullptr;
  }
  if (deaths_.is_due(steps_done())) {
    finish_all();
    saves_.wait();
    deaths_.die(steps_done());
  }
  if (std::exchange(warned_, false)) tell_warnings();
  return &batches_->next(steps_done());
}

// Between two steps all ranks have queued the same work, and have read the same flags on warnings.
void TrainingRun::tell_warnings() {
  runtime_.engine().wait();
  runtime_.console_warnings().exchange();
}

std::shared_ptr<StepOutcome> TrainingRun::step(const Batch& batch, const LossFunction& loss,
                                               bool lasting, const std::source_location& where) {
  LS_USER_CHECK(is_step_due(), "a step needs a batch of Trainer::steps(), each one once");
  const LastLoss::Use use(nonfinite_.loss(), loss, lasting);
  const std::int64_t step = steps_done();
  const UpdateOptions update = next_update();
  const auto outcome = std::make_shared<StepOutcome>();
  outcome->number = step + 1;
  outcome->numbers = record(batch, loss, update, where);
  in_flight_.add({step, update, batch, outcome});
  batches_->step_made();
  runtime_.engine().carry(batches_->take_digest(step));
  runtime_.engine().mark_step(SyncReason::kStepEnd, where);
  stops_.step_queued();
  ++state_.progress.step;
  if (in_flight_.is_full()) finish_step();
  return outcome;
}

double TrainingRun::learning_rate(std::int64_t step) const {
  const auto& given = spec_.options.learning_rate;
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a step that is due has it
  if (!given) return requested_->schedule.learning_rate(step) * plateau_.scale();
  const double out = given(step);
  LS_USER_CHECK(std::isfinite(out) && out >= 0,
                "TrainerOptions::learning_rate gives {} for step {}: a rate is a number >= 0", out,
                step);
  return out;
}

void TrainingRun::note_position() {
  if (!requested_) return;
  requested_->note_position(state_.progress);
  const TrainerOptions& options = spec_.options;
  state_.progress.schedule = {
      options.learning_rate ? "program" : std::string(name_of(options.scheduler.name)),
      {{"learning_rate", learning_rate(state_.progress.step)}}};
  plateau_.note(state_.progress.schedule);
}

UpdateOptions TrainingRun::next_update() {
  UpdateOptions out;
  out.clip_norm = spec_.options.training.gradient_clip_norm;
  out.step = steps_done();
  out.learning_rate = learning_rate(out.step);
  out.stop_requested = stops_.requested();
  out.save_failed = saves_.failed();
  out.warned = runtime_.console_warnings().announce();
  out.stop_at_nonfinite = nonfinite_.stops();
  return out;
}

StepNumbers TrainingRun::record(const Batch& batch, const LossFunction& loss,
                                const UpdateOptions& update, const std::source_location& where) {
  const ScopedSpan span(runtime_.spans(), {.kind = SpanKind::kTrace,
                                           .step = update.step,
                                           .correlation = runtime_.engine().next_correlation()});
  const auto warn = [this](const std::string& warning) {
    if (!std::exchange(warned_of_loss_, true)) runtime_.log().warn("{}", warning);
  };
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a step that is due has it
  return record_step(state_, loss, batch, requested_->inputs, update,
                     {.where = where, .warn = warn});
}

// Results are read when their step has long been computed, so that reading never waits. Every rank
// reads the same numbers for the same step, and so makes the same decisions.
void TrainingRun::finish_step() {
  const OwnReads late(runtime_.context());
  const QueuedStep done = in_flight_.take();
  const StepSummary& summary = done.outcome->read();
  const StepEvidence evidence{summary.loss, summary.grad_norm};
  // Its first header compared what was saved before it.
  if (done.step == saves_.saved_step()) release_save(evidence);
  saves_.add_step(evidence);
  if (summary.stop) stops_.agree();
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): as above
  nonfinite_.add(done, *requested_, finished_step_ > first_step_);
  if (summary.save_failed) {
    in_flight_.drop();
    saves_.wait();
    saves_.finish();
  }
  warned_ = warned_ || summary.warned;
  log_.add_step(done.step + 1, done.update.learning_rate, summary);
  finished_step_ = done.step + 1;
}

void TrainingRun::finish_up_to(std::int64_t step) {
  while (in_flight_.has_up_to(step)) finish_step();
}

// No header follows the last step. If it made a non-finite parameter on one rank only, that rank
// checks for drift, and the others must take part in it.
void TrainingRun::finish_all() {
  if (in_flight_.empty()) return;
  finish_up_to(steps_done());
  runtime_.engine().compare_whole_state();
}

void TrainingRun::end_run() {
  finish_all();
  nonfinite_evaluations_.end(runtime_.log(), spec_.settings_of);  // a save may refuse the state
  const bool saves =
      spec_.folder &&
      (stops_.agreed() ? saves_.has_time() : spec_.options.checkpoint.save_interval >= 0);
  if (saves) save_now();
  runtime_.engine().compare_whole_state();  // no header follows
  release_save();
  saves_.finish();
  deaths_.end(steps_done());
  skipped_.end();
  log_.end();
  batches_.reset();
  stops_.end(saves);
}

void TrainingRun::end_early() {
  if (batches_ == nullptr) return;
  batches_->drop();
  end_run();
}

void TrainingRun::stop_feeding() {
  runtime_.engine().end_step();
  if (batches_ != nullptr) stops_.leave();
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
  finish_up_to(saves_.saved_step());  // the previous save is released by the step after it
  const ScopedSpan span(runtime_.spans(), SpanKind::kSave, steps_done());
  note_position();
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
  if (nonfinite_.ended()) return;
  try {
    finish_up_to(saves_.saved_step());
    const bool alone = !runtime_.engine().checks_state();
    if (alone && finished_step_ == saves_.saved_step()) release_save();
  } catch (...) {
    return;  // not the first error, and so not the one to report
  }
  saves_.wait();
}

}  // namespace lockstep
