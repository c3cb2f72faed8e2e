#include "core/runtime/executor.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/kernels/base/task_kernel.h"
#include "core/runtime/host_call.h"

namespace lockstep {
namespace {

std::byte* resolve(const LoadedPlan& loaded, const PlanMemory& memory, const BufferSlice& slice) {
  const auto index = static_cast<std::size_t>(slice.index);
  switch (slice.area) {
    case Area::kInput: return memory.inputs[index] + slice.offset;
    case Area::kOutput: return memory.outputs[index] + slice.offset;
    case Area::kArena: return memory.arena + slice.offset;
    case Area::kConstant: return loaded.constants->data() + slice.offset;
  }
  __builtin_unreachable();
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) std::memmove(to, from, static_cast<std::size_t>(bytes));
}

/// Slices of reduce_scatter are as large as its result, those of all_gather as its operand.
void run_collective(const LoadedPlan& loaded, const Command& command, const PlanMemory& memory,
                    const PlanContext& context) {
  const Node& node = loaded.plan->graph[command.value];
  std::byte* result = resolve(loaded, memory, command.results[0]);
  Communicator& comm = context.communicator;
  if (node.op == Op::kReplicaId) {
    const auto rank = static_cast<std::int32_t>(comm.rank());
    std::memcpy(result, &rank, sizeof rank);
    return;
  }
  const std::byte* operand = resolve(loaded, memory, command.operands[0]);
  const std::int64_t in_bytes = command.operands[0].bytes;
  const std::int64_t out_bytes = command.results[0].bytes;
  if (node.op != Op::kCollectiveBroadcast) {
    LS_USER_CHECK(node.attrs.integer(Attr::kRanks) == comm.size(),
                  "{}: {} over {} ranks was run with {}", node.origin.to_string(), name_of(node.op),
                  node.attrs.integer(Attr::kRanks), comm.size());
  }
  CollectiveRequest request;
  request.dtype = node.type.dtype;
  request.step = context.step;
  request.signature = context.signature;
  request.count =
      std::min(in_bytes, out_bytes) / static_cast<std::int64_t>(size_of(node.type.dtype));
  switch (as<CollectiveOp>(node.op)) {
    case Op::kReduceScatter: {
      request.kind = CollectiveKind::kReduceScatter;
      request.data = resolve(loaded, memory, command.scratch);
      copy_bytes(request.data, operand, in_bytes);
      comm.wait(comm.submit(request));
      copy_bytes(result, request.data + comm.rank() * out_bytes, out_bytes);
      return;
    }
    case Op::kAllGather:
      request.kind = CollectiveKind::kAllGather;
      copy_bytes(result + comm.rank() * in_bytes, operand, in_bytes);
      break;
    case Op::kCollectiveBroadcast:
      request.kind = CollectiveKind::kBroadcast;
      request.root = static_cast<int>(node.attrs.integer(Attr::kRoot));
      LS_USER_CHECK(request.root < comm.size(), "{}: the root {} is not one of {} ranks",
                    node.origin.to_string(), request.root, comm.size());
      copy_bytes(result, operand, in_bytes);
      break;
    case Op::kAllReduce: LS_CHECK(false, "an all_reduce is between programs, not in one");
  }
  request.data = result;
  comm.wait(comm.submit(request));
}

/// The addresses of operands and results of the kernels of some commands.
class Addresses {
 public:
  Addresses(const LoadedPlan& loaded, const PlanMemory& memory, std::span<const Command> commands)
      : loaded_(loaded), memory_(memory) {
    std::size_t operands = 0;
    std::size_t results = 0;
    for (const Command& command : commands) {
      operands += command.operands.size();
      results += command.results.size();
    }
    operands_.reserve(operands);
    results_.reserve(results);
  }

  /// Call it once for each of the commands; valid as long as this object.
  KernelCall call(const Command& command, ThreadPool& pool) {
    const std::size_t operand = operands_.size();
    const std::size_t result = results_.size();
    for (const BufferSlice& slice : command.operands)
      operands_.push_back(resolve(loaded_, memory_, slice));
    for (const BufferSlice& slice : command.results)
      results_.push_back(resolve(loaded_, memory_, slice));
    std::byte* scratch =
        command.scratch.bytes > 0 ? resolve(loaded_, memory_, command.scratch) : nullptr;
    return {std::span(operands_).subspan(operand), std::span(results_).subspan(result), scratch,
            pool};
  }

 private:
  const LoadedPlan& loaded_;
  const PlanMemory& memory_;
  std::vector<const std::byte*> operands_;
  std::vector<std::byte*> results_;
};

/// A replacement for spans without a listener.
struct Unheard {
  SteadyClock clock;
  Metrics metrics{clock};
  SpanStream spans{clock, metrics};
};

void run_host_call(const LoadedPlan& loaded, const Command& command, const PlanMemory& memory,
                   const PlanContext& context) {
  const Graph& graph = loaded.plan->graph;
  const Node& node = graph[command.value];
  std::vector<Type> types;
  for (const ValueId operand : node.operands) types.push_back(graph[operand].type);
  std::optional<Unheard> unheard;
  run_host_call(loaded.host_functions.at(command.value), node, types,
                Addresses(loaded, memory, {&command, 1}).call(command, context.pool),
                {.spans = context.spans == nullptr ? unheard.emplace().spans : *context.spans,
                 .activity = context.activity,
                 .step = context.step});
}

void run_command(const LoadedPlan& loaded, std::size_t index, const PlanMemory& memory,
                 const PlanContext& context) {
  const Command& command = loaded.plan->commands[index];
  switch (command.kind) {
    case CommandKind::kKernel:
      loaded.kernels[index]->run(
          Addresses(loaded, memory, {&command, 1}).call(command, context.pool));
      break;
    case CommandKind::kCopy:
      copy_bytes(resolve(loaded, memory, command.results[0]),
                 resolve(loaded, memory, command.operands[0]), command.results[0].bytes);
      break;
    case CommandKind::kCollective: run_collective(loaded, command, memory, context); break;
    case CommandKind::kHostCall: run_host_call(loaded, command, memory, context); break;
  }
}

/// Commands [begin, end), which have tasks, with their kernels.
std::vector<TaskCall> task_calls(const LoadedPlan& loaded, std::size_t begin, std::size_t end,
                                 Addresses& addresses, ThreadPool& pool) {
  std::vector<TaskCall> out;
  out.reserve(end - begin);
  for (std::size_t c = begin; c < end; ++c) {
    const TaskKernel* kernel = loaded.kernels[c]->as_tasks();
    LS_CHECK(kernel != nullptr, "command {} cannot run at once with others", c);
    out.push_back({*kernel, addresses.call(loaded.plan->commands[c], pool)});
  }
  return out;
}

/// Commands [begin, end) at once.
void run_bundle(const LoadedPlan& loaded, std::size_t begin, std::size_t end,
                const PlanMemory& memory, const PlanContext& context) {
  if (end - begin == 1) {
    run_command(loaded, begin, memory, context);
    return;
  }
  Addresses addresses(loaded, memory, std::span(loaded.plan->commands).subspan(begin, end - begin));
  run_together(task_calls(loaded, begin, end, addresses, context.pool), context.pool);
}

/// The span of a bundle.
Span command_span(const PlanContext& context, std::size_t command) {
  const PlanCall& call = context.call;
  return {.kind = SpanKind::kCommand,
          .step = context.step,
          .correlation = call.correlation,
          .args = {call.program, call.is_update ? 1 : 0, static_cast<std::int64_t>(command),
                   call.micro_batch}};
}

/// Whether spans of bundles have a listener.
bool is_measured(const PlanContext& context) {
  return context.spans != nullptr && context.spans->wants(SpanKind::kCommand);
}

void run_measured(const LoadedPlan& loaded, std::size_t begin, std::size_t end,
                  const PlanMemory& memory, const PlanContext& context) {
  std::optional<ScopedSpan> span;
  if (is_measured(context)) span.emplace(*context.spans, command_span(context, begin));
  run_bundle(loaded, begin, end, memory, context);
}

/// Divides [begin_ns, end_ns) among the commands of a chain by the time of the threads that each
/// took.
void record_chain(const PlanContext& context, std::size_t first, std::int64_t begin_ns,
                  std::int64_t end_ns, const std::vector<std::int64_t>& ns) {
  const double sum = static_cast<double>(std::accumulate(ns.begin(), ns.end(), std::int64_t{1}));
  double done = 0;
  for (std::size_t c = 0; c < ns.size(); ++c) {
    Span span = command_span(context, first + c);
    const auto at = [&](double part) {
      return begin_ns +
             static_cast<std::int64_t>(part / sum * static_cast<double>(end_ns - begin_ns));
    };
    span.begin_ns = at(done);
    done += static_cast<double>(ns[c]);
    span.end_ns = c + 1 == ns.size() ? end_ns : at(done);
    context.spans->record(span);
  }
}

/// Commands [begin, end), task by task.
void run_chain(const LoadedPlan& loaded, std::size_t begin, std::size_t end,
               const PlanMemory& memory, const PlanContext& context) {
  Addresses addresses(loaded, memory, std::span(loaded.plan->commands).subspan(begin, end - begin));
  ThreadPool alone(1);  // an item is one thread's
  const std::vector<TaskCall> calls = task_calls(loaded, begin, end, addresses, alone);
  const Clock* clock = is_measured(context) ? &context.spans->clock() : nullptr;
  const std::int64_t begin_ns = clock == nullptr ? 0 : clock->now_ns();
  const std::vector<std::int64_t> ns =
      run_chain(loaded.chains.at(begin), calls, context.pool, context.activity, clock);
  if (clock != nullptr) record_chain(context, begin, begin_ns, clock->now_ns(), ns);
}

void tell_results(const LoadedPlan& loaded, std::size_t begin, std::size_t end,
                  const PlanMemory& memory, const PlanCallbacks& callbacks) {
  for (std::size_t c = begin; c < end; ++c) {
    std::vector<const std::byte*> results;
    for (const BufferSlice& slice : loaded.plan->commands[c].results)
      results.push_back(resolve(loaded, memory, slice));
    callbacks.ran(c, results);
  }
}

bool writes_outputs(const Command& command) {
  const auto is_output = [](const BufferSlice& slice) { return slice.area == Area::kOutput; };
  return is_output(command.scratch) || std::ranges::any_of(command.results, is_output);
}

}  // namespace

void run_plan(const LoadedPlan& loaded, const PlanMemory& memory, const PlanContext& context,
              const PlanCallbacks& callbacks) {
  const Plan& plan = *loaded.plan;
  bool before_outputs = callbacks.before_outputs != nullptr;
  const auto begin_outputs = [&] {
    if (std::exchange(before_outputs, false)) callbacks.before_outputs();
  };
  if (!plan.ready_outputs.empty()) begin_outputs();
  if (callbacks.finished)
    for (const std::int32_t output : plan.ready_outputs) callbacks.finished(output);
  for (std::size_t begin = 0; begin < plan.commands.size();) {
    const std::size_t bundle_end = next_bundle(plan, begin);
    const std::size_t end = next_chain(plan, begin);
    const auto commands = std::span(plan.commands).subspan(begin, end - begin);
    if (before_outputs && std::ranges::any_of(commands, writes_outputs)) begin_outputs();
    context.activity.command(name_of(plan.graph[commands[0].value].op));
    if (end == bundle_end) {
      run_measured(loaded, begin, end, memory, context);
    } else {
      run_chain(loaded, begin, end, memory, context);
    }
    if (callbacks.ran) tell_results(loaded, begin, end, memory, callbacks);
    if (callbacks.finished)
      for (const Command& command : commands)
        for (const std::int32_t output : command.finishes) callbacks.finished(output);
    begin = end;
  }
  begin_outputs();
}

}  // namespace lockstep
