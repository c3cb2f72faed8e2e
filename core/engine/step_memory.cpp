#include "core/engine/step_memory.h"

#include <algorithm>

#include "core/engine/execution.h"
#include "core/runtime/allocator.h"

namespace lockstep {
namespace {

std::int64_t block(std::int64_t bytes) {
  return static_cast<std::int64_t>(Allocator::block_bytes(static_cast<std::size_t>(bytes)));
}

std::int64_t output_bytes(const Graph& graph, std::size_t output) {
  return block(static_cast<std::int64_t>(graph[graph.outputs[output]].type.bytes()));
}

}  // namespace

StepMemory step_memory(const CompiledStep& step, std::int64_t shards) {
  StepMemory out;
  const auto scalars =
      std::count_if(step.step.inputs.begin(), step.step.inputs.end(),
                    [&](ValueId id) { return step.step[id].input_kind == InputKind::kScalar; });
  out.scalars = block(scalars * static_cast<std::int64_t>(kScalarSlotBytes));
  out.arena = block(std::max(step.shard.arena_bytes, step.update.arena_bytes));
  if (step.has_shard_program()) {
    out.gradient_sums = block(step.reduction.bytes) * reduction_buffers(shards);
    const Graph& shard = step.shard.graph;
    for (std::size_t i = step.split.reduced.size(); i < shard.outputs.size(); ++i)
      out.outputs += shards * output_bytes(shard, i);
  }
  for (std::size_t i = 0; i < step.update.donated_inputs.size(); ++i)
    if (step.update.donated_inputs[i] < 0) out.outputs += output_bytes(step.update.graph, i);
  return out;
}

}  // namespace lockstep
