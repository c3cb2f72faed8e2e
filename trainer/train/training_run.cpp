#include "trainer/train/training_run.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "checkpoint/file_format.h"
#include "core/base/error.h"
#include "core/engine/nonfinite.h"
#include "core/trace/reads.h"
#include "data/length_buckets.h"
#include "data/samples/digest.h"
#include "trainer/task/batch_types.h"
#include "trainer/telemetry/console.h"
#include "trainer/train/best_metric.h"

namespace lockstep {
namespace {

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::uint64_t seed_of(const Config& config) {
  return static_cast<std::uint64_t>(config.run.seed);
}

RunSaves::Options saves_of(const RunSpec& spec, TrainingState& state,
                           const std::string& resumed_from) {
  const CheckpointConfig& saving = spec.config.checkpoint;
  RunSaves::Options out{
      .folder = spec.folder ? spec.folder->checkpoints : "",
      .retention = {.keep_last = static_cast<int>(saving.keep_last), .keep_best = saving.keep_best},
      .config_text = spec.config_text,
      .resumed = !resumed_from.empty(),
      .reserve = saving.save_interval > 0 || saving.keep_best};
  if (saving.save_interval <= 0) return out;
  if (out.resumed)
    out.make_start = [path = resumed_from](CheckpointState& tensors) {
      read_again(CheckpointReader(path), tensors);
    };
  else
    out.make_start = [&state, seed = seed_of(spec.config), values = spec.values](
                         CheckpointState& tensors) { draw_again(state, seed, values, tensors); };
  return out;
}

/// Reads all of the data, which may take minutes.
std::string digest_of(const Dataset& dataset, Activity activity) {
  const ForeignCall reading(activity, "digest of the training data");
  return dataset.digest();
}

}  // namespace

/// Destroyed before the other members of the run, because its threads use them.
struct TrainingRun::Feed {
  Feed(const DataLoader& data, const StepSampler& sampler, const LoaderOptions& options,
       Device& device)
      : loader(data.dataset(), sampler, options),
        feed(loader, device, data.options().device_prefetch,
             options.micro_batches * batch_bytes(train_batch_types(*data.dataset(), options.padding,
                                                                   options.micro_batch_size))) {}
  Loader loader;
  DeviceFeed feed;
};

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
      skip_limit_(spec_.config.training.max_skipped_steps),
      skipped_(runtime),
      saves_(saves_of(spec_, state, resumed_from), state, runtime),
      judge_(state.progress),
      resumed_(!resumed_from.empty()),
      first_step_(state.progress.step) {
  state_.progress.seed = seed_of(spec_.config);
  state_.progress.tokenizer = spec_.tokenizer;
  state_.progress.samples = spec_.samples;
  if (const std::string news = begin_watching(spec_.config.early_stopping, state_.progress);
      !news.empty())
    runtime_.log().info("{}", news);
  runtime_.engine().set_step(steps_done());
  if (const std::int64_t interval = spec_.config.distributed.check_interval; interval > 0)
    runtime_.engine().start_state_check(interval);
}

TrainingRun::~TrainingRun() = default;

void TrainingRun::begin(const DataLoader& data, std::int64_t total_steps) {
  LS_USER_CHECK(feed_ == nullptr,
                "steps() was called while the steps of another call were still running");
  const DataLoaderOptions& options = data.options();
  Communicator& communicator = runtime_.communicator();
  batch_ = plan_batch(options.global_batch_size, options.micro_batch_size,
                      spec_.config.training.deterministic, communicator.size());
  total_steps_ = total_steps;
  sampler_.emplace(make_step_sampler(data.dataset(), seed_of(spec_.config),
                                     options.global_batch_size, options.shuffle,
                                     options.group_by_length));
  schedule_.emplace(spec_.config.scheduler, state_.optimizer.learning_rate(), total_steps);
  inputs_ = make_step_inputs(runtime_.engine(),
                             batch_.first_micro_batch(communicator.topology().position()),
                             batch_.micro_batches_per_rank, seed_of(spec_.config));
  const std::string digest = digest_of(*data.dataset(), activity_);
  if (resumed_ && steps_done() == first_step_ &&
      !is_same_data(state_.progress.dataset_digest, digest)) {
    runtime_.log().warn("the training data differs from that of the checkpoint");
    state_.progress.losses = {};  // losses on other data are not comparable
  }
  state_.progress.dataset_digest = digest;
  if (runtime_.is_master() && spec_.folder && !telemetry_)
    telemetry_.emplace(Telemetry::Start{.run_folder = spec_.folder->path,
                                        .resumed_step = resumed_ ? first_step_ : -1,
                                        .total_steps = total_steps,
                                        .wall_time = unix_time(),
                                        .console = spec_.console},
                       spec_.config.logging, runtime_.clock(), runtime_.log());
  step_log_.emplace(telemetry_ ? &*telemetry_ : nullptr, runtime_.metrics(), runtime_.clock(),
                    runtime_.device().allocator(), spec_.config.logging.interval,
                    static_cast<double>(options.global_batch_size * options.tokens_per_sample),
                    steps_done(), total_steps);
  watch_data(data);
  end_ = RunEnd::kRunning;
  feed_ = std::make_unique<Feed>(data, *sampler_, loader_options(data), runtime_.device());
}

const Batch* TrainingRun::next() {
  LS_USER_CHECK(!step_due_,
                "no step was made of the batch of step {}: call Trainer::step() once for each",
                steps_done());
  LS_CHECK(feed_ != nullptr, "next() without begin()");
  current_.reset();
  // Saves the previous step only now, after its evaluation if there was one, so that a resume from
  // it has nothing left to do.
  if (steps_done() > first_step_ && due(spec_.config.checkpoint.save_interval)) save_now();
  if (steps_done() >= total_steps_ || stop_agreed_ || stop_early_) {
    end_run();
    return nullptr;
  }
  if (std::exchange(warned_, false)) tell_warnings();
  take_batch();
  return &*current_;
}

// Between two steps all ranks have queued the same work, and have read the same flags on warnings.
void TrainingRun::tell_warnings() {
  runtime_.engine().wait();
  runtime_.console_warnings().exchange();
}

void TrainingRun::take_batch() {
  Engine& engine = runtime_.engine();
  const std::int64_t step = steps_done();
  runtime_.begin_step(step);
  activity_.begin(Phase::kInputWait, step);
  DeviceBatch loaded;
  {
    const ScopedSpan span(runtime_.spans(), SpanKind::kInputWait, step);
    loaded = feed_->feed.next();
  }
  skipped_.add(loaded.skipped);
  activity_.begin(Phase::kTrace, step);
  engine.begin_step();
  Batch::Fields fields;
  for (const auto& [name, tensor] : loaded.fields)
    fields[name] = engine.adopt(tensor, InputKind::kBatch, "batch." + name);
  current_.emplace(std::move(fields));
  step_due_ = true;
}

std::shared_ptr<StepOutcome> TrainingRun::step(const Batch& batch, const LossFunction& loss,
                                               bool lasting, const std::source_location& where) {
  LS_USER_CHECK(step_due_, "a step needs a batch of Trainer::steps(), each one once");
  Engine& engine = runtime_.engine();
  const std::int64_t step = steps_done();
  lasting_loss_ = lasting ? loss : LossFunction();
  UpdateOptions update;
  update.clip_norm = spec_.config.training.gradient_clip_norm;
  update.step = step;
  update.learning_rate = schedule_->learning_rate(step);
  update.stop_requested = watch_.stop_requested();
  update.save_failed = saves_.failed();
  update.warned = runtime_.console_warnings().announce();
  update.stop_at_nonfinite = spec_.config.training.on_nonfinite == OnNonfinite::kStop;
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
  if (data_watch_) engine.carry(data_watch_->take(step));
  engine.mark_step(SyncReason::kStepEnd, where);
  // Before this, no rank can have finished the step, so there was nothing to save.
  watch_.on_stop(spec_.folder ? OnStop::kSave : OnStop::kLeave);
  ++state_.progress.step;
  loss_ = &loss;
  const auto lag = static_cast<std::size_t>(spec_.config.device.queue_depth);
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
  judge_.add_step(evidence);
  FinishedStep numbers;
  numbers.step = done.step + 1;
  numbers.epoch =
      static_cast<double>(numbers.step) / static_cast<double>(sampler_->steps_per_epoch());
  numbers.metrics = summary.metrics;
  numbers.metrics["loss"] = summary.loss;
  numbers.grad_norm = summary.grad_norm;
  numbers.learning_rate = done.update.learning_rate;
  stop_agreed_ = stop_agreed_ || summary.stop;
  check_finite(done, summary);
  if (summary.save_failed) {
    drain();
    saves_.finish();
  }
  warned_ = warned_ || summary.warned;
  step_log_->add_step(numbers);
  finished_step_ = numbers.step;
}

void TrainingRun::check_finite(const InFlight& done, const StepSummary& summary) {
  const std::string limit = skip_limit_.add(!summary.finite);
  const std::string numbers =
      fmt::format("loss {} and gradient norm {}", format_significant(summary.loss, 4),
                  format_significant(summary.grad_norm, 3));
  if (summary.finite && summary.state_finite) return;
  if (summary.finite) {
    rule_out_drift();
    blow_up(fmt::format(
        "step {}: the update made a parameter that is not finite ({}), and the run stops; earlier "
        "checkpoints are intact. Lower optimizer.learning_rate or set "
        "training.gradient_clip_norm, and resume",
        done.step, numbers));
  }
  const std::string what = numbers + " are not finite; the update was left out";
  if (spec_.config.training.on_nonfinite == OnNonfinite::kStop) stop_at_nonfinite(done, what);
  runtime_.log().warn("step {}: {} (training.on_nonfinite: skip)", done.step, what);
  if (limit.empty()) return;
  rule_out_drift();
  blow_up(
      fmt::format("step {}: {}: {} (training.max_skipped_steps: {}), so the run no longer trains, "
                  "and stops; earlier checkpoints are intact. Lower optimizer.learning_rate or set "
                  "training.gradient_clip_norm, and resume",
                  done.step, what, limit, spec_.config.training.max_skipped_steps));
}

void TrainingRun::stop_at_nonfinite(const InFlight& done, const std::string& what) {
  rule_out_drift();
  blow_up(
      fmt::format("step {}: {}; {}, and the run stops (training.on_nonfinite: stop); lower "
                  "optimizer.learning_rate, set training.gradient_clip_norm, or choose skip",
                  done.step, name_nonfinite(done), what));
}

// A run that made no step saves nothing: it starts again from the same state.
void TrainingRun::blow_up(const std::string& what) {
  blew_up_ = true;
  const bool made_steps = finished_step_ > first_step_;
  const std::string back = made_steps && spec_.folder ? saves_.go_back_to_good() : "";
  raise(ErrorKind::kNonFinite, "{}{}{}", what, back.empty() ? "" : "; ", back);
}

// The step's parameters and slots are still there: neither it nor the steps queued after it changed
// them. All ranks report the finding of the lowest micro-batch that has one.
std::string TrainingRun::name_nonfinite(const InFlight& done) {
  const LossFunction* loss = loss_ != nullptr ? loss_ : lasting_loss_ ? &lasting_loss_ : nullptr;
  if (loss == nullptr) return "the step cannot be run again, because its loss no longer exists";
  activity_.begin(Phase::kTrace, done.step);
  record_step(state_, *loss, done.batch, inputs_, done.update);
  std::string mine;
  if (const auto found = runtime_.engine().find_nonfinite()) {
    const std::int64_t first =
        batch_.first_micro_batch(runtime_.communicator().topology().position());
    mine = fmt::format("{:010} {}", first + found->micro_batch, found->text);
  }
  std::string lowest;
  for (const std::string& theirs :
       runtime_.communicator().exchange("value that is not finite", mine))
    if (!theirs.empty() && (lowest.empty() || theirs < lowest)) lowest = theirs;
  if (lowest.empty())
    return "every value of the micro-batches is finite, but their gradients' sum or norm is not, "
           "or the counts of the loss add up to 0";
  const std::size_t space = lowest.find(' ');
  return fmt::format("first non-finite value: {}, micro-batch {}", lowest.substr(space + 1),
                     std::stoll(lowest.substr(0, space)));
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
      keeps && (stop_agreed_ ? saves_.has_time() : spec_.config.checkpoint.save_interval >= 0);
  if (saves) save_now();
  runtime_.engine().compare_whole_state();  // no header follows
  release_save();
  saves_.finish();
  skipped_.end();
  step_log_->flush();
  feed_.reset();
  end_ = stop_agreed_  ? (saves ? RunEnd::kPreempted : RunEnd::kUnsaved)
         : stop_early_ ? RunEnd::kEarlyStopping
                       : RunEnd::kFinished;
  watch_.on_stop(OnStop::kEnd);
}

void TrainingRun::end_early() {
  step_due_ = false;
  current_.reset();
  if (feed_ != nullptr) end_run();
}

void TrainingRun::stop_feeding() {
  runtime_.engine().end_step();
  if (feed_ != nullptr) watch_.on_stop(OnStop::kLeave);  // no save can be requested any more
  step_due_ = false;
  current_.reset();
  feed_.reset();
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
  if (sampler_) {
    const std::int64_t per_epoch = steps_per_epoch();
    progress.epoch = steps_done() / per_epoch;
    progress.sample_position = steps_done() % per_epoch * batch_.global_batch_size;
    progress.schedule = {std::string(name_of(spec_.config.scheduler.name)),
                         {{"learning_rate", schedule_->learning_rate(steps_done())}}};
  }
  saves_.save();
}

// A resume continues after the saved step, so its metrics must be on file before the checkpoint.
void TrainingRun::release_save(const std::optional<StepEvidence>& next) {
  if (const std::string news = judge_.settle(saves_.saved_step(), next); !news.empty())
    runtime_.log().warn("{}", news);
  if (step_log_) step_log_->flush();
  saves_.release();
}

// The last save is kept if the steps before it were good, and if a later step has shown that all
// ranks have the same state, or there is only one rank.
void TrainingRun::keep_last_save() {
  feed_.reset();
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

double TrainingRun::epoch() const {
  return static_cast<double>(steps_done()) / static_cast<double>(steps_per_epoch());
}

LoaderOptions TrainingRun::loader_options(const DataLoader& data) {
  LoaderOptions out;
  out.first_step = steps_done();
  out.end_step = std::max(total_steps_, steps_done());
  out.first_micro_batch = batch_.first_micro_batch(runtime_.communicator().topology().position());
  out.micro_batches = batch_.micro_batches_per_rank;
  out.micro_batch_size = batch_.micro_batch_size;
  out.workers = static_cast<int>(data.options().workers);
  out.prefetch = data.options().prefetch;
  const ForeignCall lengths(activity_, "Dataset::lengths");
  const ChosenPadding chosen = step_padding(data.options().padding, *data.dataset(), *sampler_);
  if (!chosen.text.empty()) runtime_.log().info("{}", chosen.text);
  out.padding = chosen.padding;
  runtime_.engine().batches_are_padded(padded_dimensions(*data.dataset(), out.padding, "batch."),
                                       bucket_lengths(out.padding));
  out.activity = activity_;
  out.spans = &runtime_.spans();
  if (DataWatch* watch = data_watch_.get())
    out.beside = [watch](std::int64_t s) { watch->look(s); };
  return out;
}

/// Data that was not compared in full is compared during training.
void TrainingRun::watch_data(const DataLoader& data) {
  data_watch_.reset();
  const std::int64_t interval = spec_.config.distributed.check_interval;
  if (spec_.same_data || runtime_.communicator().size() == 1 || interval == 0) return;
  runtime_.log().info("the ranks compare one more sample every {} steps", interval);
  data_watch_ = std::make_unique<DataWatch>(data.dataset(), seed_of(spec_.config), interval,
                                            runtime_.communicator().topology());
}

}  // namespace lockstep
