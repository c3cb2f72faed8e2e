#include "core/engine/compile.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/engine/update_plans.h"
#include "core/ir/cost.h"
#include "core/ir/group.h"
#include "core/ir/text.h"
#include "core/kernels/base/task_kernel.h"
#include "core/kernels/kernel_cache.h"
#include "core/passes/bundles.h"
#include "core/passes/chains.h"
#include "core/passes/memory_plan.h"
#include "core/passes/pipeline.h"
#include "core/passes/split_step.h"
#include "core/runtime/loaded_step.h"

namespace lockstep {
namespace {

BufferSlice to_slice(const Slot& slot) {
  const auto area = [&] {
    switch (slot.kind) {
      case SlotKind::kInput: return Area::kInput;
      case SlotKind::kOutput: return Area::kOutput;
      case SlotKind::kArena: return Area::kArena;
      case SlotKind::kConstant: return Area::kConstant;
    }
    __builtin_unreachable();
  }();
  return {area, slot.index, slot.offset, slot.bytes};
}

/// reduce_scatter works in place on all slices, and so needs a copy of its operand.
std::int64_t collective_scratch(const Graph& graph, const Node& node) {
  return node.op == Op::kReduceScatter
             ? static_cast<std::int64_t>(graph[node.operands[0]].type.bytes())
             : 0;
}

WorkClass work_of(CommandKind kind, const KernelFacts* kernel) {
  switch (kind) {
    case CommandKind::kKernel: return kernel->work();
    case CommandKind::kCopy: return WorkClass::kCopy;
    case CommandKind::kCollective: return WorkClass::kCollective;
    case CommandKind::kHostCall: return WorkClass::kHostCall;
  }
  __builtin_unreachable();
}

Command make_command(const Graph& graph, ValueId id, const MemoryPlan& memory,
                     const KernelFacts* kernel) {
  const Node& node = graph[id];
  const auto at = static_cast<std::size_t>(id);
  const std::optional<CommandKind> kind = command_kind(node.op);
  LS_CHECK(kind.has_value(), "no command computes {}", print_node(graph, id));
  Command command;
  command.kind = *kind;
  command.work = work_of(*kind, kernel);
  command.value = id;
  for (const ValueId operand : node.operands)
    command.operands.push_back(to_slice(memory.values[static_cast<std::size_t>(operand)]));
  for (std::size_t k = 0; k < result_count(node); ++k)
    command.results.push_back(to_slice(memory.values[at + k]));
  command.scratch = to_slice(memory.scratch[at]);
  const Cost cost = cost_of(graph, id);
  command.flops = cost.flops;
  command.bytes = cost.bytes_read + cost.bytes_written;
  return command;
}

/// Outputs whose value lies elsewhere are copied after all other commands.
void append_copies(const MemoryPlan& memory, Plan& plan) {
  for (const std::int32_t output : memory.copied_outputs) {
    Command copy;
    copy.kind = CommandKind::kCopy;
    copy.work = WorkClass::kCopy;
    copy.value = plan.graph.outputs[static_cast<std::size_t>(output)];
    copy.operands.push_back(to_slice(memory.values[static_cast<std::size_t>(copy.value)]));
    copy.results.push_back({Area::kOutput, output, 0, copy.operands[0].bytes});
    copy.bytes = 2.0 * static_cast<double>(copy.operands[0].bytes);
    plan.commands.push_back(std::move(copy));
  }
}

/// An output is finished by the last command that writes or reads it: the callback may then change
/// it.
void mark_finished_outputs(Plan& plan) {
  std::vector<std::int32_t> last(plan.graph.outputs.size(), -1);
  for (std::size_t c = 0; c < plan.commands.size(); ++c)
    for (const auto* slices : {&plan.commands[c].operands, &plan.commands[c].results})
      for (const BufferSlice& slice : *slices)
        if (slice.area == Area::kOutput)
          last[static_cast<std::size_t>(slice.index)] = static_cast<std::int32_t>(c);
  for (std::size_t i = 0; i < last.size(); ++i) {
    const auto output = static_cast<std::int32_t>(i);
    if (last[i] < 0) {
      plan.ready_outputs.push_back(output);
    } else {
      plan.commands[static_cast<std::size_t>(last[i])].finishes.push_back(output);
    }
  }
}

/// One per node; null for those without a kernel, or whose kernel is not known.
using AllFacts = std::vector<std::shared_ptr<const KernelFacts>>;

/// Whether every device computes it in the same way, as far as memory counts.
bool is_elementary(Op op) {
  switch (info_of(op).op_class) {
    case OpClass::kContraction:
    case OpClass::kWindow:
    case OpClass::kAttention: return false;
    default: return true;
  }
}

AllFacts plan_kernels(const Graph& graph, const CompileOptions& options, KernelCache& kernels) {
  AllFacts out(graph.nodes.size());
  for (ValueId id = 0; id < graph.size(); ++id) {
    const bool known = !options.unknown_kernels || is_elementary(graph[id].op);
    if (known && command_kind(graph[id].op) == CommandKind::kKernel)
      out[static_cast<std::size_t>(id)] = kernels.facts(graph, id);
    options.activity.progress();
  }
  return out;
}

void make_commands(const AllFacts& facts, const CommandBundles& bundles,
                   const CommandBundles& chains, const MemoryPlan& memory, Plan& plan) {
  const Graph& g = plan.graph;
  for (ValueId id = 0; id < g.size(); ++id) {
    const auto at = static_cast<std::size_t>(id);
    if (g[id].op == Op::kInput || g[id].op == Op::kConstant || memory.is_view[at]) continue;
    if (g[id].op == Op::kGroupResult) continue;  // written by its group's command
    plan.commands.push_back(make_command(g, id, memory, facts[at].get()));
    plan.commands.back().with_previous = bundles.first[at] != id;
    plan.commands.back().chained = bundles.first[at] == id && chains.first[at] != id;
  }
  append_copies(memory, plan);
  mark_finished_outputs(plan);
}

ChainQuery chain_query(const Graph& graph, const AllFacts& facts) {
  const auto tasks_of = [&facts](ValueId id) {
    const KernelFacts* kernel = facts[static_cast<std::size_t>(id)].get();
    return kernel == nullptr ? nullptr : kernel->as_tasks();
  };
  const auto bytes_in = [](const Extent& extent, std::size_t all) {
    return std::min(extent.end, static_cast<std::int64_t>(all)) - extent.begin;
  };
  ChainQuery out;
  out.tasks = [=](ValueId id) { return tasks_of(id) == nullptr ? 0 : tasks_of(id)->tasks(); };
  out.read_bytes = [=, &graph](ValueId id, std::size_t i) {
    return bytes_in(tasks_of(id)->begins_with(i) ? Extent{} : tasks_of(id)->reads(0, i),
                    graph[graph[id].operands[i]].type.bytes());
  };
  out.written_bytes = [=, &graph](ValueId id, std::size_t k) {
    return bytes_in(tasks_of(id)->finishes(k) ? Extent{} : tasks_of(id)->writes(0, k),
                    result_type(graph[id], k).bytes());
  };
  return out;
}

/// Names the groups of a step's update program (norm, clipping, the optimizer's rule) "optimizer".
void name_optimizer(Plan& update) {
  for (Command& command : update.commands)
    if (command.work == WorkClass::kFused || command.work == WorkClass::kFusedReduce)
      command.work = WorkClass::kOptimizer;
}

std::string describe_largest(const std::vector<LargeValue>& largest) {
  std::string out;
  for (const LargeValue& value : largest)
    out += fmt::format("  {:>10}  {} {}\n", format_bytes(static_cast<double>(value.bytes)),
                       value.type.to_string(), value.origin.to_string());
  return out;
}

}  // namespace

const HostFunctions& functions_of(const CompileOptions& options) {
  static const HostFunctions none;
  return options.host_functions ? *options.host_functions : none;
}

Plan compile_program(Graph graph, const CompileOptions& options, KernelCache& kernels, Log& log) {
  Plan plan;
  if (graph.outputs.empty()) return plan;
  require_host_functions(graph, functions_of(options));
  const PassOptions passes{.verify = options.verify,
                           .disabled = options.disabled_passes,
                           .activity = options.activity,
                           .spans = options.spans};
  plan.graph = run_pipeline(std::move(graph), options.target, passes, log);
  const Graph& g = plan.graph;
  const AllFacts facts = plan_kernels(g, options, kernels);
  const auto kernel_of = [&](ValueId id) { return facts[static_cast<std::size_t>(id)].get(); };
  const auto scratch_bytes = [&](ValueId id) {
    const KernelFacts* kernel = kernel_of(id);
    if (kernel == nullptr) return collective_scratch(g, g[id]);
    return options.unknown_kernels ? 0 : static_cast<std::int64_t>(kernel->scratch_bytes());
  };
  const auto kind_of_work = [&](ValueId id) {
    const KernelFacts* kernel = kernel_of(id);
    return std::string(kernel != nullptr && kernel->joins_bundles() ? name_of(kernel->work()) : "");
  };
  MemoryQuery query;
  query.scratch_bytes = scratch_bytes;
  query.may_alias = [&](ValueId id, std::size_t result, std::size_t operand) {
    const KernelFacts* kernel = kernel_of(id);
    return kernel != nullptr && kernel->may_alias(result, operand);
  };
  std::optional<CommandBundles> bundles, chains;
  if (!options.unknown_kernels) {
    bundles = find_bundles(g, {kind_of_work, scratch_bytes});
    chains = find_chains(g, *bundles, chain_query(g, facts));
    query.bundles = &*chains;
  }
  const MemoryPlan memory = plan_memory(g, query);
  plan.arena_bytes = memory.arena_bytes;
  plan.constant_bytes = memory.constant_bytes;
  for (ValueId id = 0; id < g.size(); ++id)
    if (g[id].op == Op::kConstant)
      plan.constants.push_back(to_slice(memory.values[static_cast<std::size_t>(id)]));
  plan.donated_inputs = memory.donated_inputs;
  plan.peak_bytes = memory.peak_bytes;
  plan.largest_values = describe_largest(memory.largest);
  if (!options.unknown_kernels) make_commands(facts, *bundles, *chains, memory, plan);
  return plan;
}

LoadedPlan compile_and_load(const Graph& graph, const CompileOptions& options, KernelCache& kernels,
                            Log& log) {
  return load(std::make_shared<const Plan>(compile_program(graph, options, kernels, log)), kernels,
              functions_of(options), options.activity);
}

std::shared_ptr<const CompiledStep> compile_step(Graph step, const CompileOptions& options,
                                                 KernelCache& kernels, UpdatePlans& updates,
                                                 Log& log) {
  auto out = std::make_shared<CompiledStep>();
  out->split = split_step(step);
  out->step = std::move(step);
  out->reduction = plan_reduction(out->split.reduced, options.buckets);
  out->gradient = compile_program(std::move(out->split.gradient), options, kernels, log);
  out->update = updates.get(out->split.update, [&] {
    Plan plan = compile_program(out->split.update, options, kernels, log);
    name_optimizer(plan);
    return plan;
  });
  // The plans hold the graphs that run.
  out->split.gradient = Graph{};
  out->split.update = Graph{};
  return out;
}

std::shared_ptr<LoadedStep> load_step(std::shared_ptr<const CompiledStep> compiled,
                                      const CompileOptions& options, KernelCache& kernels) {
  const OptionalSpan span(options.spans, {.kind = SpanKind::kKernels});
  const auto load_plan = [&](const Plan& plan) {
    return load(std::shared_ptr<const Plan>(compiled, &plan), kernels, functions_of(options),
                options.activity);
  };
  auto out = std::make_shared<LoadedStep>();
  out->gradient = load_plan(compiled->gradient);
  out->update = load_plan(compiled->update);
  out->compiled = std::move(compiled);
  return out;
}

}  // namespace lockstep
