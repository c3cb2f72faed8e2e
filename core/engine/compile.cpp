#include "core/engine/compile.h"

#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/ir/cost.h"
#include "core/ir/group.h"
#include "core/passes/launches.h"
#include "core/passes/memory_plan.h"
#include "core/passes/pipeline.h"

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

bool needs_kernel(const Node& node) {
  return node.op != Op::kInput && node.op != Op::kConstant && node.op != Op::kReplicaId &&
         node.op != Op::kReshape && node.op != Op::kOptimizationBarrier &&
         node.op != Op::kGroupResult && node.op != Op::kHostCall && !is_collective(node.op);
}

std::vector<Type> operand_types(const Graph& graph, const Node& node) {
  std::vector<Type> out;
  for (const ValueId operand : node.operands) out.push_back(graph[operand].type);
  return out;
}

/// reduce_scatter works in place on all slices, and so needs a copy of its operand.
std::int64_t collective_scratch(const Graph& graph, const Node& node) {
  return node.op == Op::kReduceScatter
             ? static_cast<std::int64_t>(graph[node.operands[0]].type.bytes())
             : 0;
}

std::shared_ptr<const Buffer> collect_constants(const Graph& graph, const MemoryPlan& memory,
                                                std::vector<BufferSlice>& slices) {
  BufferPtr data = allocate_host(static_cast<std::size_t>(memory.constant_bytes));
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op != Op::kConstant) continue;
    const Slot& slot = memory.values[static_cast<std::size_t>(id)];
    const auto bytes = graph[id].literal.bytes();
    if (!bytes.empty()) std::memcpy(data->data() + slot.offset, bytes.data(), bytes.size());
    slices.push_back(to_slice(slot));
  }
  return data;
}

Command make_command(const Graph& graph, ValueId id, const MemoryPlan& memory) {
  const Node& node = graph[id];
  const auto at = static_cast<std::size_t>(id);
  Command command;
  command.value = id;
  command.kind = is_collective(node.op) || node.op == Op::kReplicaId ? CommandKind::kCollective
                 : node.op == Op::kOptimizationBarrier               ? CommandKind::kCopy
                 : node.op == Op::kHostCall                          ? CommandKind::kHostCall
                                                                     : CommandKind::kKernel;
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

/// Outputs whose value lies elsewhere are copied when everything else ran.
void append_copies(const MemoryPlan& memory, Plan& plan) {
  for (const std::int32_t output : memory.copied_outputs) {
    Command copy;
    copy.kind = CommandKind::kCopy;
    copy.value = plan.graph.outputs[static_cast<std::size_t>(output)];
    copy.operands.push_back(to_slice(memory.values[static_cast<std::size_t>(copy.value)]));
    copy.results.push_back({Area::kOutput, output, 0, copy.operands[0].bytes});
    copy.bytes = 2.0 * static_cast<double>(copy.operands[0].bytes);
    plan.commands.push_back(std::move(copy));
    plan.kernels.push_back(nullptr);
  }
}

/// An output is finished by the last command that writes or reads it: who is told may change it.
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

/// One per node; null for those without.
using KernelPtrs = std::vector<std::shared_ptr<const Kernel>>;

KernelPtrs choose_kernels(const Graph& graph, KernelCache& kernels, Activity activity) {
  KernelPtrs out(graph.nodes.size());
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (needs_kernel(node))
      out[static_cast<std::size_t>(id)] = kernels.get(node, operand_types(graph, node));
    activity.progress();
  }
  return out;
}

std::string describe_largest(const std::vector<LargeValue>& largest) {
  std::string out;
  for (const LargeValue& value : largest)
    out += fmt::format("  {:>10}  {} {}\n", format_bytes(static_cast<double>(value.bytes)),
                       value.type.to_string(), value.origin.to_string());
  return out;
}

}  // namespace

Plan compile_program(const Graph& graph, const CompileOptions& options, KernelCache& kernels,
                     Log& log) {
  Plan plan;
  if (graph.outputs.empty()) return plan;
  const HostFunctions none;
  const HostFunctions& functions = options.host_functions ? *options.host_functions : none;
  require_host_functions(graph, functions);
  const PassOptions passes{
      .verify = options.verify, .disabled = options.disabled_passes, .activity = options.activity};
  plan.graph = run_pipeline(graph, options.target, passes, log);
  const Graph& g = plan.graph;
  const KernelPtrs kernel_of = choose_kernels(g, kernels, options.activity);
  const auto scratch_bytes = [&](ValueId id) {
    const auto& kernel = kernel_of[static_cast<std::size_t>(id)];
    return kernel == nullptr ? collective_scratch(g, g[id])
                             : static_cast<std::int64_t>(kernel->scratch_bytes());
  };
  const auto kind_of_work = [&](ValueId id) {
    const Kernel* kernel = kernel_of[static_cast<std::size_t>(id)].get();
    return std::string(kernel != nullptr && kernel->has_tasks() ? name_of(kernel->work()) : "");
  };
  const Launches launches = find_launches(g, {kind_of_work, scratch_bytes});
  MemoryQuery query;
  query.launches = &launches;
  query.scratch_bytes = scratch_bytes;
  query.may_alias = [&](ValueId id, std::size_t result, std::size_t operand) {
    const auto& kernel = kernel_of[static_cast<std::size_t>(id)];
    return kernel != nullptr && kernel->may_alias(result, operand);
  };
  const MemoryPlan memory = plan_memory(g, query);
  for (ValueId id = 0; id < g.size(); ++id) {
    const auto at = static_cast<std::size_t>(id);
    if (g[id].op == Op::kInput || g[id].op == Op::kConstant || memory.is_view[at]) continue;
    if (g[id].op == Op::kGroupResult) continue;  // written by its group's command
    plan.commands.push_back(make_command(g, id, memory));
    plan.commands.back().with_previous = launches.first[at] != id;
    plan.kernels.push_back(kernel_of[at]);
    if (g[id].op == Op::kHostCall) plan.host_functions.emplace(id, functions.find(g[id]));
  }
  plan.arena_bytes = memory.arena_bytes;
  plan.constant_bytes = memory.constant_bytes;
  plan.constant_data = collect_constants(g, memory, plan.constants);
  plan.donated_inputs = memory.donated_inputs;
  plan.peak_bytes = memory.peak_bytes;
  plan.largest_values = describe_largest(memory.largest);
  append_copies(memory, plan);
  mark_finished_outputs(plan);
  return plan;
}

std::shared_ptr<const CompiledStep> compile_step(Graph step, const CompileOptions& options,
                                                 KernelCache& kernels, Log& log) {
  auto out = std::make_shared<CompiledStep>();
  out->split = split_step(step);
  out->step = std::move(step);
  out->reduction = plan_reduction(out->split.reduced, options.buckets);
  out->shard = compile_program(out->split.shard, options, kernels, log);
  out->update = compile_program(out->split.update, options, kernels, log);
  // The plans hold the graphs that run.
  out->split.shard = Graph{};
  out->split.update = Graph{};
  return out;
}

}  // namespace lockstep
