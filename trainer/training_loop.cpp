#include "trainer/training_loop.h"

#include <cmath>

#include "core/base/error.h"
#include "trainer/batch_types.h"
#include "trainer/config/show.h"
#include "trainer/telemetry/console.h"

namespace lockstep {
namespace {

std::uint64_t seed_of(const Config& config) {
  return static_cast<std::uint64_t>(config.run.seed);
}

double metric_of(const Evaluation& result, EvalMetric metric) {
  const auto found = result.metrics.find(metric == EvalMetric::kLoss ? "loss" : "accuracy");
  return found == result.metrics.end() ? std::nan("") : found->second;
}

/// Whether `value` improves on the best by more than `min_delta`; a first value always does.
bool improves(const EarlyStoppingConfig& config, double value, double best) {
  if (std::isnan(value)) return false;
  if (std::isnan(best)) return true;
  return config.metric == EvalMetric::kLoss ? value < best - config.min_delta
                                            : value > best + config.min_delta;
}

}  // namespace

TrainingLoop::TrainingLoop(LoopParts parts)
    : parts_(std::move(parts)),
      schedule_(parts_.config.scheduler, parts_.config.optimizer.learning_rate, parts_.total_steps),
      inputs_(make_step_inputs(
          parts_.session.engine(),
          parts_.batch.first_shard(parts_.session.communicator().topology().position()),
          parts_.batch.shards_per_rank, seed_of(parts_.config))),
      watch_(parts_.session.watch()),
      activity_(watch_.activity()),
      step_log_(parts_.telemetry, parts_.session.metrics(), parts_.session.clock(),
                parts_.session.device().allocator(), parts_.config.logging.interval,
                static_cast<double>(parts_.batch.global_batch * parts_.data.tokens_per_sample),
                parts_.state.progress.step, parts_.total_steps),
      skip_limit_(parts_.config.training.max_skipped_steps) {
  parts_.state.progress.seed = seed_of(parts_.config);
  Engine& engine = parts_.session.engine();
  engine.set_step(step());
  if (const std::int64_t interval = parts_.config.distributed.check_interval; interval > 0)
    engine.start_state_check(interval);
  if (parts_.resumed) saved_step_ = step();
  if (!parts_.session.is_master()) return;
  const CheckpointConfig& saving = parts_.config.checkpoint;
  CheckpointWriter::Options options;
  options.folder = parts_.checkpoint_folder;
  options.retention = {static_cast<int>(saving.keep_last), saving.keep_best};
  options.config_yaml = config_yaml(parts_.config);
  options.good_magnitude = parts_.state.initial_magnitude;
  options.activity = activity_;
  options.reserve = saving.save_interval > 0 || saving.keep_best;
  writer_.emplace(std::move(options), parts_.state, parts_.session.spans(), parts_.session.log());
}

LoopEnd TrainingLoop::run() {
  try {
    return run_steps();
  } catch (...) {
    keep_last_save();
    throw;
  }
}

LoopEnd TrainingLoop::run_steps() {
  Loader loader(parts_.data.train, parts_.sampler, loader_options());
  DeviceFeed feed(loader, parts_.session.device(), parts_.config.data.device_prefetch_size,
                  parts_.batch.shards_per_rank *
                      batch_bytes(train_batch_types(*parts_.data.train, parts_.batch.micro_batch)));
  const auto lag = static_cast<std::size_t>(parts_.config.device.queue_depth);
  // The signal that ended the run before may have cut its evaluation short.
  if (parts_.resumed && step() > 0 && due(parts_.config.eval.interval)) evaluate_now();
  while (step() < parts_.total_steps && !stop_agreed_ && !stop_early_) {
    start_step(step(), feed);
    ++parts_.state.progress.step;
    if (in_flight_.size() > lag) finish_step();
    // Evaluated before it is saved: a resume from the last step has nothing left to do.
    const bool last = step() == parts_.total_steps && parts_.config.eval.interval > 0;
    if (due(parts_.config.eval.interval) || last) evaluate_now();
    if (due(parts_.config.checkpoint.save_interval)) save_now();
  }
  finish_all();
  if (parts_.config.eval.interval > 0 && !stop_agreed_) evaluate_now();
  const bool saves =
      stop_agreed_ ? has_time_to_save() : parts_.config.checkpoint.save_interval >= 0;
  if (saves) save_now();
  parts_.session.engine().compare_whole_state();  // no header follows
  release_save();
  finish_saves();
  step_log_.flush();
  if (stop_agreed_) return saves ? LoopEnd::kPreempted : LoopEnd::kUnsaved;
  return stop_early_ ? LoopEnd::kEarlyStopping : LoopEnd::kFinished;
}

void TrainingLoop::start_step(std::int64_t step, DeviceFeed& feed) {
  Engine& engine = parts_.session.engine();
  SpanStream& spans = parts_.session.spans();
  activity_.begin(Phase::kInputWait, step);
  DeviceBatch loaded;
  {
    const ScopedSpan span(spans, SpanCategory::kInputWait, step);
    loaded = feed.next();
  }
  activity_.begin(Phase::kTrace, step);
  engine.set_step(step);
  if (parts_.data_watch != nullptr) engine.carry(parts_.data_watch->take(step));
  UpdateOptions update;
  update.clip_norm = parts_.config.training.gradient_clip_norm;
  update.step = step;
  update.learning_rate = schedule_.learning_rate(step);
  update.stop_requested = watch_.stop_requested();
  update.save_failed = writer_ && writer_->failed();
  update.stop_at_nonfinite = parts_.config.training.on_nonfinite == OnNonfinite::kStop;
  {
    const ScopedSpan span(spans, SpanCategory::kTrace, step);
    Batch::Fields fields;
    for (const auto& [name, tensor] : loaded.fields)
      fields[name] = engine.adopt(tensor, InputKind::kBatch, "batch." + name);
    Batch batch(std::move(fields));
    StepNumbers result = record_step(parts_.state, parts_.loss, batch, inputs_, update);
    in_flight_.push_back({step, update, std::move(batch), std::move(result)});
  }
  engine.mark_step(SyncReason::kStepEnd);
  // Before this, no rank can have finished the step: there was nothing to save.
  watch_.on_stop(OnStop::kSave);
}

// Results are read when their step has long been computed, so that reading never waits. Every rank
// reads the same numbers for the same step, and so comes to the same decisions.
void TrainingLoop::finish_step() {
  const InFlight done = std::move(in_flight_.front());
  in_flight_.pop_front();
  activity_.begin(Phase::kRead, done.step);
  const StepSummary summary = done.result.read();
  // Its first header compared what was saved before it.
  if (done.step == saved_step_) release_save();
  FinishedStep numbers;
  numbers.step = done.step + 1;
  numbers.epoch =
      static_cast<double>(numbers.step) / static_cast<double>(parts_.sampler.steps_per_epoch());
  numbers.metrics = summary.metrics;
  numbers.metrics["loss"] = summary.loss;
  numbers.grad_norm = summary.grad_norm;
  numbers.learning_rate = done.update.learning_rate;
  stop_agreed_ = stop_agreed_ || summary.stop;
  check_finite(done, summary);
  if (summary.save_failed) {
    drain();
    finish_saves();
  }
  step_log_.add_step(numbers);
  finished_step_ = numbers.step;
}

void TrainingLoop::check_finite(const InFlight& done, const StepSummary& summary) {
  const std::string limit = skip_limit_.add(!summary.finite);
  const std::string numbers =
      fmt::format("loss {} and gradient norm {}", format_significant(summary.loss, 4),
                  format_significant(summary.grad_norm, 3));
  if (summary.finite && summary.sound) return;
  if (summary.finite) {
    rule_out_drift();
    raise(
        ErrorKind::kNonFinite,
        "step {}: the update made a parameter that is not finite ({}), and the run stops; earlier "
        "checkpoints are intact. Lower optimizer.learning_rate or set "
        "training.gradient_clip_norm, and resume",
        done.step, numbers);
  }
  const std::string what = numbers + " are not finite; the update was left out";
  if (parts_.config.training.on_nonfinite == OnNonfinite::kStop) stop_at_nonfinite(done, what);
  parts_.session.log().warn("step {}: {} (training.on_nonfinite: skip)", done.step, what);
  if (limit.empty()) return;
  rule_out_drift();
  raise(ErrorKind::kNonFinite,
        "step {}: {}: {} (training.max_skipped_steps: {}), so the run no longer trains and stops; "
        "earlier checkpoints are intact. Lower optimizer.learning_rate or set "
        "training.gradient_clip_norm, and resume",
        done.step, what, limit, parts_.config.training.max_skipped_steps);
}

void TrainingLoop::stop_at_nonfinite(const InFlight& done, const std::string& what) {
  rule_out_drift();
  raise(ErrorKind::kNonFinite,
        "step {}: {}; {}, and the run stops (training.on_nonfinite: stop); lower "
        "optimizer.learning_rate, set training.gradient_clip_norm, or choose skip",
        done.step, name_nonfinite(done), what);
}

// The step's parameters and slots are still there: neither it nor what was queued behind it changed
// them. The lowest shard that finds something is right for all ranks.
std::string TrainingLoop::name_nonfinite(const InFlight& done) {
  activity_.begin(Phase::kTrace, done.step);
  record_step(parts_.state, parts_.loss, done.batch, inputs_, done.update);
  std::string mine;
  if (const auto found = parts_.session.engine().find_nonfinite()) {
    const std::int64_t first =
        parts_.batch.first_shard(parts_.session.communicator().topology().position());
    mine = fmt::format("{:010} {}", first + found->shard, found->text);
  }
  std::string lowest;
  for (const std::string& theirs :
       parts_.session.communicator().exchange("value that is not finite", mine))
    if (!theirs.empty() && (lowest.empty() || theirs < lowest)) lowest = theirs;
  if (lowest.empty())
    return "every value of the shards is finite, but their gradients' sum or norm is not";
  const std::size_t space = lowest.find(' ');
  return fmt::format("first non-finite value: {}, shard {}", lowest.substr(space + 1),
                     std::stoll(lowest.substr(0, space)));
}

// All ranks have queued the same steps, so that all come to the end of them.
void TrainingLoop::drain() {
  in_flight_.clear();
  parts_.session.engine().wait();
  if (writer_) writer_->wait();
}

// One rank's damaged state makes the numbers of all not finite: then it is to blame.
void TrainingLoop::rule_out_drift() {
  drain();
  parts_.session.engine().compare_whole_state();
}

// No header follows the last step. If it made a parameter that is not finite on one rank alone,
// that one rules out drift, and the others must not go on to something else.
void TrainingLoop::finish_all() {
  if (in_flight_.empty()) return;
  while (!in_flight_.empty()) finish_step();
  parts_.session.engine().compare_whole_state();
}

void TrainingLoop::evaluate_now() {
  if (parts_.data.validation == nullptr || parts_.state.progress.evaluated_step == step()) return;
  finish_all();
  const std::int64_t begin_ns = parts_.session.clock().now_ns();
  activity_.begin(Phase::kEvaluate, step());
  const EvalConfig& config = parts_.config.eval;
  EvaluateOptions options;
  options.batch_size = config.batch_size > 0 ? config.batch_size : parts_.batch.micro_batch;
  options.max_batches = config.max_batches;
  options.workers = static_cast<int>(parts_.config.data.loader_workers);
  options.prefetch = parts_.config.data.loader_prefetch_size;
  options.compute_dtype = parts_.state.compute_dtype;
  options.step = step();
  options.activity = activity_;
  options.stop_requested = [this] { return watch_.stop_requested(); };
  const Evaluation result = evaluate(parts_.session.engine(), parts_.session.communicator(),
                                     parts_.loss, parts_.data.validation, options);
  if (!result.complete) {  // all ranks know it
    stop_agreed_ = true;
    return;
  }
  parts_.state.progress.evaluated_step = step();
  step_log_.add_pause(StepLog::Pause::kEvaluation, begin_ns);
  step_log_.add_evaluation(step(), epoch(), result);

  const EarlyStoppingConfig& early = parts_.config.early_stopping;
  TrainerState& progress = parts_.state.progress;
  const double value = metric_of(result, early.metric);
  if (improves(early, value, progress.best_metric)) {
    progress.best_metric = value;
    progress.early_stopping = {step(), 0};
    // The best parameters exist only now: keep_best is a promise to have them on disk.
    if (parts_.config.checkpoint.keep_best) save_now();
    return;
  }
  ++progress.early_stopping.bad_evaluations;
  if (early.patience > 0 && progress.early_stopping.bad_evaluations >= early.patience &&
      !stop_early_) {
    stop_early_ = true;
    parts_.session.log().info("early stopping at step {}: {} evaluations without improvement",
                              step(), progress.early_stopping.bad_evaluations);
  }
}

void TrainingLoop::save_now() {
  if (saved_step_ == step()) return;
  // The save before this one is released by the step after it.
  while (!in_flight_.empty() && in_flight_.front().step <= saved_step_) finish_step();
  const std::int64_t begin_ns = parts_.session.clock().now_ns();
  activity_.begin(Phase::kSnapshot, step());
  saved_step_ = step();
  TrainerState& progress = parts_.state.progress;
  const std::int64_t per_epoch = parts_.sampler.steps_per_epoch();
  progress.epoch = step() / per_epoch;
  progress.sample_position = step() % per_epoch * parts_.batch.global_batch;
  progress.schedule = {std::string(name_of(parts_.config.scheduler.name)),
                       {{"learning_rate", schedule_.learning_rate(step())}}};
  if (writer_) {
    writer_->submit(parts_.session.engine());
  } else {
    parts_.session.engine().snapshot({}, {});  // to be compared with what the master copies
  }
  step_log_.add_pause(StepLog::Pause::kSave, begin_ns);
}

// A resume goes on after the saved step, so its metrics must be on file before the checkpoint is.
void TrainingLoop::release_save() {
  step_log_.flush();
  if (writer_) writer_->release();
}

// mpirun that is interrupted kills its ranks a second after it has told them. A write that is under
// way gets that second; a new one only if it needs the half of it. All ranks decide alike.
bool TrainingLoop::has_time_to_save() {
  constexpr double kHurriedWrite = 0.5;  // seconds
  if (saved_step_ == step()) return true;
  const double last = writer_ ? writer_->last_write_seconds() : 0;
  const std::string mine = fmt::format("{}{}", watch_.stop_is_hurried() ? "hurried" : "",
                                       last < kHurriedWrite ? "" : " slow");
  bool hurried = false;
  bool slow = false;
  for (const std::string& text : parts_.session.communicator().exchange("time to save", mine)) {
    hurried = hurried || text.starts_with("hurried");
    slow = slow || text.ends_with("slow");
  }
  if (hurried && writer_) say_what_is_saved(slow);
  return !hurried || !slow;
}

void TrainingLoop::say_what_is_saved(bool slow) {
  const std::string_view before = writer_->is_writing() ? "that of step {} is being written"
                                                        : "the last checkpoint is of step {}";
  const std::string saved =
      saved_step_ < 0 ? "nothing was saved" : fmt::format(fmt::runtime(before), saved_step_);
  if (slow)
    parts_.session.log().warn(
        "asked to stop by mpirun, which kills the ranks within a second: step {} is NOT saved, as "
        "the last save took {:.1f} s; {}. Send SIGUSR1 to mpirun, or use lockstep launch: then all "
        "is saved",
        step(), writer_->last_write_seconds(), saved);
  else
    parts_.session.log().info(
        "asked to stop by mpirun, which kills the ranks within a second: saving step {} at once; "
        "{}",
        step(), saved);
}

// No rank reports success, or another rank's failure to save, before the master's file is there.
void TrainingLoop::finish_saves() {
  activity_.begin(Phase::kWrite, step());
  SaveProblem problem;
  if (writer_) problem = writer_->wait();
  const std::string kind = problem.kind == ErrorKind::kNonFinite ? "suspect" : "failed";
  const std::vector<std::string> texts =
      parts_.session.communicator().exchange("checkpoint saved", problem.text);
  if (texts[0].empty()) return;
  const bool suspect = parts_.session.communicator().exchange("saved how", kind)[0] == "suspect";
  raise(suspect ? ErrorKind::kNonFinite : ErrorKind::kCheckpoint, "{}", texts[0]);
}

// The run ends with an error. What it saved before is kept if the steps before it were good, and if
// another one has shown that all ranks have the same or there are no others.
void TrainingLoop::keep_last_save() {
  try {
    while (!in_flight_.empty() && in_flight_.front().step <= saved_step_) finish_step();
    const bool alone = !parts_.session.engine().checks_state();
    if (alone && finished_step_ == saved_step_) release_save();
  } catch (...) {
    return;  // not the first error, and so not the one to report
  }
  if (writer_) writer_->wait();
}

double TrainingLoop::epoch() const {
  return static_cast<double>(step()) / static_cast<double>(parts_.sampler.steps_per_epoch());
}

LoaderOptions TrainingLoop::loader_options() const {
  LoaderOptions out;
  out.first_step = step();
  out.end_step = std::max(parts_.total_steps, step());
  out.first_shard = parts_.batch.first_shard(parts_.session.communicator().topology().position());
  out.shards = parts_.batch.shards_per_rank;
  out.micro_batch = parts_.batch.micro_batch;
  out.workers = static_cast<int>(parts_.config.data.loader_workers);
  out.prefetch = parts_.config.data.loader_prefetch_size;
  out.activity = activity_;
  if (DataWatch* watch = parts_.data_watch)
    out.beside = [watch](std::int64_t s) { watch->look(s); };
  return out;
}

}  // namespace lockstep
