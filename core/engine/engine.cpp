#include "core/engine/engine.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/host_memory.h"
#include "core/engine/compile.h"
#include "core/engine/device_value.h"
#include "core/engine/execution.h"
#include "core/engine/nonfinite.h"
#include "core/engine/snapshot.h"
#include "core/engine/state_watch.h"
#include "core/engine/step_compiler.h"
#include "core/observe/analysis.h"
#include "core/observe/program_analysis.h"
#include "core/runtime/communicator.h"
#include "core/runtime/device.h"
#include "core/runtime/loaded_step.h"
#include "core/trace/context.h"

namespace lockstep {
namespace {

/// An error that names its step.
class StepError final : public Error {
 public:
  using Error::Error;
};

/// The current exception with the step it belongs to in front, unless it already names one.
std::exception_ptr with_step(std::int64_t step) {
  try {
    throw;
  } catch (const StepError&) {
    return std::current_exception();
  } catch (const Error& e) {
    return std::make_exception_ptr(StepError(e.kind(), fmt::format("step {}: {}", step, e.what())));
  } catch (const std::exception& e) {
    const Error error = memory_error(e).value_or(Error(ErrorKind::kInternal, e.what()));
    return std::make_exception_ptr(
        StepError(error.kind(), fmt::format("step {}: {}", step, error.what())));
  }
}

CompileOptions complete(CompileOptions options, TraceContext& context, Device& device) {
  options.host_functions = &context.host_functions();
  options.spans = &device.spans();
  return options;
}

}  // namespace

// The first error since the host last looked. Shared with queued executions.
struct Engine::Failure {
  std::mutex mutex;
  std::exception_ptr error;

  std::exception_ptr get() {
    const std::lock_guard lock(mutex);
    return error;
  }
  void set(std::exception_ptr e) {
    const std::lock_guard lock(mutex);
    if (!error) error = std::move(e);
  }
  void clear() {
    const std::lock_guard lock(mutex);
    error = nullptr;
  }
};

Engine::Engine(const CompileOptions& options, TraceContext& context, Device& device,
               Communicator& communicator, Log& log)
    : options_(std::make_unique<const CompileOptions>(complete(options, context, device))),
      context_(context),
      device_(device),
      communicator_(communicator),
      log_(log),
      compiler_(std::make_unique<StepCompiler>(*options_, device.spans(), log)),
      analysis_(
          std::make_unique<Analysis>(device.spans(), compiler_->journal().causes(), *cuts_, log)),
      failure_(std::make_shared<Failure>()),
      last_execution_(std::make_shared<LastExecution>()),
      results_(std::make_shared<Reservation>(device.allocator(), "results of steps in flight")) {
  context_.set_device_thread(device.thread_id());
  context_.set_read_observer(this);
  context_.set_sync_handler(
      [this](SyncReason reason, const std::source_location& where) { mark_step(reason, where); });
}

Engine::~Engine() {
  context_.set_read_observer(nullptr);
  context_.set_sync_handler(nullptr);
  context_.set_device_thread({});
  device_.synchronize();
}

Tensor Engine::to_device(std::vector<HostTensor> micro_batches, InputKind kind,
                         std::string_view name) {
  return adopt(device_.copy_to_device(std::move(micro_batches), std::string(name)), kind, name);
}

Tensor Engine::adopt(DeviceTensorPtr value, InputKind kind, std::string_view name) {
  return context_.tensor(std::make_shared<DeviceValue>(device_, std::move(value)), kind, name);
}

CutTrace Engine::cut() {
  ScopedSpan span(device_.spans(),
                  {.kind = SpanKind::kCut, .step = step_, .correlation = next_correlation_});
  CutTrace out = context_.cut();
  span.args() = {out.graph.size(), static_cast<std::int64_t>(out.outputs.size())};
  return out;
}

std::string Engine::line_of(const std::source_location& where) const {
  const Origin line = context_.origin_at(where);
  return fmt::format("{}:{}", line.file, line.line);
}

void Engine::begin_read(const Tensor& tensor, const std::source_location& where) {
  const TensorState& state = tensor.state();
  const auto* computed = dynamic_cast<const DeviceValue*>(state.value.get());
  // A read of a value that is already computed delays nothing, unless a step is being recorded.
  if (!in_step_ && computed != nullptr && computed->tensor()->ready->is_ready()) return;
  std::string made = "discarded";
  if (computed != nullptr) {
    made = computed->tensor()->label.to_string();
  } else if (state.epoch == context_.epoch()) {
    made = context_.pending()[state.node].origin.to_string();
  }
  const bool named = !read_name_.empty();
  const Cuts::Row row{
      .reason = std::string(name_of(SyncReason::kValueRead)),
      .line = line_of(where),
      .what = named ? read_name_ : fmt::format("{} {}", tensor.type().to_string(), made),
      .first_step = read_step_,
      .last_step = read_step_,
      .in_step = in_step_};
  LS_USER_CHECK(!in_step_ || !reads_forbidden_,
                "{}: {} was read between taking a batch and the end of its step "
                "(profile.forbid_reads: true); read it after the step, keep it on the device, or "
                "compute with it in a host_call",
                row.line, row.told());
  open_read_ = cuts_->add(row);
  if (in_step_)
    log_.debug(1,
               "lockstep-profiler: graph break at step {}: {} was read at {} between taking a "
               "batch and mark_step",
               step_, row.told(), row.line);
  read_phase_.emplace(options_->activity, Phase::kDeviceWait, named ? read_step_ : step_);
  read_begin_ns_ = device_.spans().clock().now_ns();
}

void Engine::end_read() {
  const Cuts::RowId row = std::exchange(open_read_, Cuts::kNoRow);
  if (row == Cuts::kNoRow) return;
  read_phase_.reset();
  cuts_->add_wait(row, device_.spans().clock().now_ns() - read_begin_ns_);
  if (drained_by_ == Cuts::kNoRow && device_.has_drained()) drained_by_ = row;
}

void Engine::name_reads(std::string_view name, std::int64_t step) {
  read_name_ = name;
  read_step_ = step;
}

void Engine::mark_step(SyncReason reason, const std::source_location& where) {
  rethrow_failure();
  // A loop that marks its own steps begins no phases.
  std::optional<PhaseScope> phase;
  if (reason == SyncReason::kMarkStep) phase.emplace(options_->activity, Phase::kTrace, step_);
  CutTrace trace = cut();
  device_.spans().metrics().count("MarkStep");
  if (reason != SyncReason::kValueRead)
    cuts_->add({.reason = std::string(name_of(reason)),
                .line = reason == SyncReason::kMarkStep ? line_of(where) : ""});
  std::shared_ptr<StepExecution> execution = start_execution(trace, reason);
  analyze(trace);
  if (trace.outputs.empty()) return;
  execution->inputs = step_inputs(trace.inputs);
  trace.inputs.clear();  // the execution has its leases now
  std::exception_ptr error;
  try {
    Cut cut = cut_of(trace, reason, where);
    cut.has_step = has_steps_;
    execution->program = compiler_->get(std::move(trace.graph), step_, cut);
    note_virtual_work(*execution);
    if (log_.debug_level() >= 1) explain(*execution, where);
    // A value that differs between micro-batches does so in later steps.
    for (const std::int32_t output : execution->program->compiled->split.gradient_outputs)
      trace.outputs[static_cast<std::size_t>(output)]->input_kind = InputKind::kBatch;
  } catch (...) {
    error = with_step(step_);
  }
  enqueue(std::move(execution), error);
  if (error) std::rethrow_exception(error);
}

/// Logs the execution's analysis: one line now, and one for each donation that becomes a copy.
void Engine::explain(StepExecution& execution, const std::source_location& where) {
  const LoadedStep& program = *execution.program;
  log_.debug(1, "{}",
             execution_analysis(
                 execution.step,
                 fmt::format("{} on {}", name_of(execution.reason), origin_of(where).to_string()),
                 program.name, program.compiled->step));
  execution.on_copy = [&log = log_, step = execution.step](const DeviceTensor& old) {
    log.debug(1,
              "Execution Analysis: step {}: {} {} is copied, not donated: a handle or a snapshot "
              "still holds the old value",
              step, old.label.to_string(), old.type.to_string());
  };
}

/// What the host has done up to now, in virtual time.
void Engine::note_virtual_work(StepExecution& execution) {
  VirtualClock* clock = device_.virtual_clock();
  if (clock == nullptr) return;
  if (execution.program->id > newest_program_) clock->compiled();
  newest_program_ = std::max(newest_program_, execution.program->id);
  execution.host = clock->hand_over(execution.reason == SyncReason::kStepEnd);
}

/// The outputs are placeholders from now on.
std::shared_ptr<StepExecution> Engine::start_execution(const CutTrace& trace, SyncReason reason) {
  const Graph& graph = trace.graph;
  const std::size_t count = trace.outputs.size();
  std::vector<std::string_view> variables(count);  // whose next values the outputs are
  for (const Update& update : graph.updates)
    variables[static_cast<std::size_t>(update.output)] =
        graph[graph.inputs[static_cast<std::size_t>(update.input)]].name;
  auto out = std::make_shared<StepExecution>();
  std::vector<TensorValuePtr> placeholders;
  out->outputs.reserve(count);
  placeholders.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = graph[graph.outputs[i]];
    out->outputs.push_back(std::make_shared<DeviceTensor>(
        node.type, ValueLabel(variables[i], node.origin, graph.strings)));
    placeholders.push_back(std::make_shared<DeviceValue>(device_, out->outputs.back()));
  }
  trace.bind(placeholders);
  out->updates = graph.updates;
  out->step = step_;
  out->reason = reason;
  out->drained_by = std::exchange(drained_by_, Cuts::kNoRow);
  if (reason == SyncReason::kStepEnd) in_step_ = false;
  out->correlation = next_correlation_++;
  out->overlap = options_->buckets.overlap;
  if (reason == SyncReason::kStepEnd || reason == SyncReason::kEvaluation) out->results = results_;
  if (reason == SyncReason::kStepEnd) {
    out->state_watch = state_watch_;
    out->carried = std::exchange(carried_, nullptr);
  }
  return out;
}

void Engine::analyze(const CutTrace& trace) {
  if (!analysis_->enabled()) return;
  for (const TensorValuePtr& input : trace.inputs)
    if (auto* value = dynamic_cast<DeviceValue*>(input.get())) value->mark_needed();
  std::vector<bool> is_update(trace.outputs.size(), false);
  for (const Update& update : trace.graph.updates)
    is_update[static_cast<std::size_t>(update.output)] = true;
  for (std::size_t i = 0; i < trace.outputs.size(); ++i)
    if (!is_update[i]) {
      auto& value = static_cast<DeviceValue&>(*trace.outputs[i]->value);
      value.watch(analysis_->watch_output(
          fmt::format("{} {}", value.type().to_string(), value.tensor()->label.to_string()),
          step_));
    }
  analysis_->end_step();
}

/// `error`: the step did not compile. It fails in order, after earlier steps have made its inputs.
void Engine::enqueue(std::shared_ptr<StepExecution> execution, std::exception_ptr error) {
  device_.enqueue([this, execution = std::move(execution), error = std::move(error),
                   failure = failure_, last = last_execution_]() mutable {
    if (device_.spans().wants_levels()) device_.tell_queue_depth();
    if (!error) error = failure->get();
    const std::int64_t begin = end_gap(*execution, *last, error);
    const auto program = execution->program;  // kept while listeners of spans may look it up
    Span whole{.kind = SpanKind::kExecute,
               .begin_ns = begin,
               .step = execution->step,
               .correlation = execution->correlation,
               .name = name_of(execution->reason),
               .args = {program == nullptr ? -1 : program->id,
                        static_cast<std::int64_t>(execution->reason)}};
    if (!error) {
      try {
        whole.args[2] = run_step(*execution, device_, communicator_);
      } catch (...) {
        error = with_step(execution->step);
        failure->set(error);
      }
    }
    if (error) fail_step(*execution, error);
    *last = {.reason = execution->reason};
    execution.reset();
    SpanStream& stream = device_.spans();
    last->end_ns = whole.end_ns = stream.clock().now_ns();
    if (!error) stream.record(whole);
  });
}

/// Waits for the inputs, and records how long the device did not compute, and why. `error` becomes
/// that of the inputs. Returns the time at which the execution begins.
std::int64_t Engine::end_gap(const StepExecution& execution, const LastExecution& last,
                             std::exception_ptr& error) {
  SpanStream& stream = device_.spans();
  const std::int64_t taken = stream.clock().now_ns();
  if (!error) {
    try {
      wait_for_inputs(execution);
    } catch (...) {
      error = with_step(execution.step);
      failure_->set(error);
    }
  }
  const std::int64_t begin = stream.clock().now_ns();
  if (execution.drained_by != Cuts::kNoRow && last.end_ns > 0)
    cuts_->add_idle(execution.drained_by, taken - last.end_ns);
  const bool evaluates =
      last.reason == SyncReason::kEvaluation || execution.reason == SyncReason::kEvaluation;
  if (last.end_ns > 0)
    stream.record({.kind = last.snapshot ? SpanKind::kCheckpointStall
                           : evaluates   ? SpanKind::kEvaluationGap
                                         : SpanKind::kExposedGap,
                   .begin_ns = last.end_ns,
                   .end_ns = begin,
                   .step = execution.step,
                   .correlation = execution.correlation,
                   .args = {begin - taken}});
  return begin;
}

void Engine::start_state_check(std::int64_t interval) {
  if (communicator_.size() > 1) state_watch_ = std::make_shared<StateWatch>(interval, step_, log_);
}

void Engine::compare_whole_state() {
  if (state_watch_ == nullptr) return;
  wait();
  device_.enqueue([watch = state_watch_, &pool = device_.pool()] {
    const auto last = watch->last();
    if (last == nullptr || !last->turn().whole) watch->look_at_everything({}, pool);
  });
  device_.synchronize();
  if (const auto sample = state_watch_->last()) compare_samples(communicator_, *sample);
}

void Engine::wait() {
  const PhaseScope phase(options_->activity, Phase::kDeviceWait, step_);
  device_.synchronize();
  rethrow_failure();
}

EventPtr Engine::snapshot(std::span<const Tensor> values, std::vector<HostTensor> to) {
  LS_CHECK(values.size() == to.size(), "{} places for {} values", to.size(), values.size());
  std::vector<SnapshotPart> parts;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto* value = dynamic_cast<const DeviceValue*>(values[i].state().value.get());
    LS_CHECK(value != nullptr, "a snapshot of a value that no step computes");
    parts.push_back({value->tensor(), std::move(to[i])});
    bytes += static_cast<std::int64_t>(parts.back().to.bytes().size());
  }
  auto done = std::make_shared<Event>();
  VirtualClock* clock = device_.virtual_clock();
  std::vector<HostEvent> host;
  if (clock != nullptr) host = clock->hand_over(false);
  device_.enqueue([this, parts = std::move(parts), bytes, done, failure = failure_,
                   last = last_execution_, watch = state_watch_, clock, host]() mutable {
    last->snapshot = last->end_ns > 0;
    if (clock != nullptr) clock->copy(host, bytes);
    try {
      if (const std::exception_ptr error = failure->get()) std::rethrow_exception(error);
      check_snapshot(parts);
      const ScopedSpan span(device_.spans(), {.kind = SpanKind::kSnapshot, .args = {bytes}});
      if (watch) {
        watch->look_at_everything(parts, device_.pool());
      } else {
        copy_snapshot(parts, device_.pool());
      }
      parts.clear();  // so that the next step may have the only leases, and work in place
      done->set();
    } catch (...) {
      done->fail(std::current_exception());
    }
  });
  return done;
}

void Engine::fail_outputs(const StepExecution& execution, const char* why) {
  const auto error = std::make_exception_ptr(Error(ErrorKind::kUsage, why));
  for (const DeviceTensorPtr& output : execution.outputs) output->ready->fail(error);
}

std::optional<NonFiniteValue> Engine::find_nonfinite() {
  const CutTrace trace = cut();
  fail_outputs(*start_execution(trace, SyncReason::kValueRead),
               "the value was only searched for NaN and infinity, never kept");
  return lockstep::find_nonfinite(trace.graph, trace.inputs, *options_, device_, communicator_,
                                  log_);
}

std::shared_ptr<const CompiledStep> Engine::compile_pending() {
  CutTrace trace = cut();
  fail_outputs(*start_execution(trace, SyncReason::kMarkStep),
               "the step of this value was only compiled, never run");
  return compiler_->plan(std::move(trace.graph), step_, "dry run");
}

void Engine::batches_are_padded(std::span<const std::string> dimensions,
                                std::span<const std::int64_t> lengths) {
  compiler_->journal().batches_are_padded(dimensions, lengths);
}

const ProgramTable& Engine::programs() const {
  return compiler_->programs();
}

const CauseTally& Engine::compilations() {
  compiler_->journal().flush();
  return compiler_->journal().causes();
}

void Engine::set_compilation_listener(CompilationListener listener) {
  compiler_->journal().set_listener(std::move(listener));
}

void Engine::rethrow_failure() {
  const std::exception_ptr error = failure_->get();
  if (!error) return;
  device_.synchronize();  // executions queued after the failed step must not run after this
  failure_->clear();
  std::rethrow_exception(error);
}

}  // namespace lockstep
