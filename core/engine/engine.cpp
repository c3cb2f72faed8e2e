#include "core/engine/engine.h"

#include "core/base/error.h"
#include "core/ir/structure.h"

namespace lockstep {
namespace {

/// The error with the step it belongs to in front.
std::exception_ptr with_step(std::int64_t step) {
  try {
    throw;
  } catch (const Error& e) {
    return std::make_exception_ptr(Error(e.kind(), fmt::format("step {}: {}", step, e.what())));
  } catch (const std::bad_alloc&) {
    return std::make_exception_ptr(
        Error(ErrorKind::kOutOfMemory,
              fmt::format("step {}: the host has no memory left for the device's "
                          "(device.memory_gb may promise more than there is)",
                          step)));
  } catch (const std::exception& e) {
    return std::make_exception_ptr(
        Error(ErrorKind::kInternal, fmt::format("step {}: {}", step, e.what())));
  }
}

std::string output_label(const Graph& graph, std::size_t output) {
  const Node& node = graph[graph.outputs[output]];
  for (const Update& update : graph.updates) {
    if (static_cast<std::size_t>(update.output) != output) continue;
    const Node& input = graph[graph.inputs[static_cast<std::size_t>(update.input)]];
    return fmt::format("{} {}", input.name, node.origin.to_string());
  }
  return node.origin.to_string();
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
    : options_(options),
      context_(context),
      device_(device),
      communicator_(communicator),
      log_(log),
      kernels_(options.target),
      failure_(std::make_shared<Failure>()),
      last_execution_end_ns_(std::make_shared<std::int64_t>(0)) {
  context_.set_sync_handler([this](SyncReason reason) { mark_step(reason); });
}

Engine::~Engine() {
  context_.set_sync_handler(nullptr);
  device_.synchronize();
}

Tensor Engine::to_device(std::vector<HostTensor> shards, InputKind kind, std::string_view name) {
  return adopt(device_.copy_to_device(std::move(shards), std::string(name)), kind, name);
}

Tensor Engine::adopt(DeviceTensorPtr value, InputKind kind, std::string_view name) {
  return context_.tensor(std::make_shared<DeviceValue>(device_, std::move(value)), kind, name);
}

void Engine::mark_step(SyncReason reason) {
  rethrow_failure();
  SpanStream& spans = device_.spans();
  CutTrace trace = context_.cut();
  spans.metrics().count("MarkStep");
  log_.debug(1, "mark_step at step {}: {}, {} nodes, {} outputs", step_, name_of(reason),
             trace.graph.nodes.size(), trace.outputs.size());

  auto execution = std::make_shared<StepExecution>();
  std::vector<TensorValuePtr> placeholders;
  for (std::size_t i = 0; i < trace.outputs.size(); ++i) {
    const Type& type = trace.graph[trace.graph.outputs[i]].type;
    execution->outputs.push_back(
        std::make_shared<DeviceTensor>(type, output_label(trace.graph, i)));
    placeholders.push_back(std::make_shared<DeviceValue>(device_, execution->outputs.back()));
  }
  trace.bind(placeholders);
  placeholders.clear();
  if (trace.outputs.empty()) return;
  execution->step = step_;
  execution->correlation = next_correlation_++;
  execution->overlap = options_.buckets.overlap;
  execution->inputs = std::move(trace.inputs);
  try {
    execution->program = find_or_compile(std::move(trace.graph), reason);
  } catch (...) {
    const std::exception_ptr error = with_step(step_);
    for (const DeviceTensorPtr& output : execution->outputs) output->ready->fail(error);
    std::rethrow_exception(error);
  }
  device_.enqueue([this, execution = std::move(execution), failure = failure_,
                   last_end = last_execution_end_ns_]() mutable {
    SpanStream& stream = device_.spans();
    const std::int64_t begin = stream.clock().now_ns();
    if (*last_end > 0) stream.record(SpanCategory::kExposedGap, *last_end, begin, execution->step);
    if (const auto earlier = failure->get()) {
      fail_step(*execution, earlier);
    } else {
      try {
        run_step(*execution, device_, communicator_);
      } catch (...) {
        const std::exception_ptr error = with_step(execution->step);
        failure->set(error);
        fail_step(*execution, error);
      }
    }
    execution.reset();
    *last_end = stream.clock().now_ns();
  });
}

void Engine::wait() {
  device_.synchronize();
  rethrow_failure();
}

std::shared_ptr<const CompiledStep> Engine::compile_pending() {
  CutTrace trace = context_.cut();
  const auto error = std::make_exception_ptr(
      Error(ErrorKind::kUsage, "the value was only compiled for, never computed"));
  std::vector<TensorValuePtr> placeholders;
  for (const ValueId output : trace.graph.outputs) {
    auto tensor = std::make_shared<DeviceTensor>(trace.graph[output].type);
    tensor->ready->fail(error);
    placeholders.push_back(std::make_shared<DeviceValue>(device_, std::move(tensor)));
  }
  trace.bind(placeholders);
  return find_or_compile(std::move(trace.graph), SyncReason::kMarkStep);
}

std::shared_ptr<const CompiledStep> Engine::find_or_compile(Graph graph, SyncReason reason) {
  SpanStream& spans = device_.spans();
  auto& bucket = cache_[structural_hash(graph)];
  // The hash is only a hint: the whole structure decides.
  for (const auto& entry : bucket) {
    if (!structurally_equal(entry->step, graph)) continue;
    spans.metrics().count("CachedCompile");
    return entry;
  }
  spans.metrics().count("UncachedCompile");
  const ScopedSpan span(spans, SpanCategory::kCompile, step_);
  auto compiled = compile_step(std::move(graph), options_, kernels_, log_);
  log_.debug(2, "compiled at step {} ({}): {} shard and {} update commands", step_, name_of(reason),
             compiled->shard.commands.size(), compiled->update.commands.size());
  bucket.push_back(compiled);
  return compiled;
}

void Engine::rethrow_failure() {
  const std::exception_ptr error = failure_->get();
  if (!error) return;
  device_.synchronize();  // what was queued behind the failed step must not run after this
  failure_->clear();
  std::rethrow_exception(error);
}

}  // namespace lockstep
