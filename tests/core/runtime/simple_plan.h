// Plans without a compiler: every value has its own memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ir/text.h"
#include "core/kernels/kernel_cache.h"
#include "core/runtime/executor.h"

namespace lockstep {

/// Commands for the nodes of `graph` in order, then a copy to each output.
inline Plan plan_of(const std::string& text, KernelCache& kernels) {
  Plan plan;
  plan.graph = parse(text, "plan.ir");
  const Graph& graph = plan.graph;
  std::vector<BufferSlice> slices(graph.nodes.size());
  const auto in_arena = [&](std::int64_t bytes) {
    const BufferSlice out{Area::kArena, 0, plan.arena_bytes, bytes};
    plan.arena_bytes += (bytes + 63) / 64 * 64;
    return out;
  };
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    BufferSlice& slice = slices[static_cast<std::size_t>(id)];
    const auto bytes = static_cast<std::int64_t>(node.type.bytes());
    if (node.op == Op::kInput) continue;
    if (node.op == Op::kConstant) {
      slice = {Area::kConstant, 0, plan.constant_bytes, bytes};
      plan.constants.push_back(slice);
      plan.constant_bytes += (bytes + 63) / 64 * 64;
      continue;
    }
    slice = in_arena(bytes);
    Command command;
    command.value = id;
    command.results = {slice};
    for (const ValueId operand : node.operands) {
      command.operands.push_back(slices[static_cast<std::size_t>(operand)]);
      if (graph[operand].op == Op::kInput)
        for (std::size_t i = 0; i < graph.inputs.size(); ++i)
          if (graph.inputs[i] == operand)
            command.operands.back() = {Area::kInput, static_cast<std::int32_t>(i), 0,
                                       static_cast<std::int64_t>(graph[operand].type.bytes())};
    }
    command.kind = command_kind(node.op).value();
    std::int64_t scratch = node.op == Op::kReduceScatter ? command.operands[0].bytes : 0;
    if (command.kind == CommandKind::kKernel) {
      const auto facts = kernels.facts(graph, id);
      command.work = facts->work();
      scratch = static_cast<std::int64_t>(facts->scratch_bytes());
    }
    if (scratch > 0) command.scratch = in_arena(scratch);
    plan.commands.push_back(std::move(command));
  }
  plan.donated_inputs.assign(graph.outputs.size(), -1);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    Command copy;
    copy.kind = CommandKind::kCopy;
    copy.work = WorkClass::kCopy;
    copy.value = graph.outputs[i];
    copy.operands = {slices[static_cast<std::size_t>(copy.value)]};
    copy.results = {{Area::kOutput, static_cast<std::int32_t>(i), 0, copy.operands[0].bytes}};
    copy.finishes = {static_cast<std::int32_t>(i)};
    plan.commands.push_back(std::move(copy));
  }
  return plan;
}

inline LoadedPlan load_copy(const Plan& plan, KernelCache& kernels) {
  return load(std::make_shared<const Plan>(plan), kernels);
}

/// The plan's outputs for these inputs.
inline std::vector<HostTensor> run_plan_on(const LoadedPlan& loaded,
                                           std::span<const HostTensor> inputs,
                                           Communicator& communicator) {
  const Plan& plan = *loaded.plan;
  ThreadPool pool(1);
  PlanMemory memory;
  for (const HostTensor& input : inputs) memory.inputs.push_back(input.bytes().data());
  std::vector<HostTensor> outputs;
  for (const ValueId id : plan.graph.outputs) {
    const Type& type = plan.graph[id].type;
    outputs.emplace_back(type.dtype, type.shape);
    memory.outputs.push_back(outputs.back().bytes().data());
  }
  const BufferPtr arena = allocate_host(static_cast<std::size_t>(plan.arena_bytes));
  memory.arena = arena->data();
  run_plan(loaded, memory, {pool, communicator, 3, Hash128{}});
  return outputs;
}

}  // namespace lockstep
