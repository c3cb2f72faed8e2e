#include "core/engine/step_memory.h"

#include <algorithm>

#include "core/engine/execution.h"
#include "core/runtime/allocator.h"
#include "core/runtime/compiled_step.h"

namespace lockstep {
namespace {

std::int64_t block(std::int64_t bytes) {
  return static_cast<std::int64_t>(Allocator::block_bytes(static_cast<std::size_t>(bytes)));
}

/// The step's output that the update program's i-th output is.
std::size_t step_output(const CompiledStep& step, std::size_t i) {
  return static_cast<std::size_t>(step.split.update_outputs[i]);
}

std::int64_t output_bytes(const Graph& graph, std::size_t output) {
  return block(static_cast<std::int64_t>(graph[graph.outputs[output]].type.bytes()));
}

}  // namespace

StepMemory step_memory(const CompiledStep& step, std::int64_t micro_batches) {
  StepMemory out;
  const auto scalars =
      std::count_if(step.step.inputs.begin(), step.step.inputs.end(),
                    [&](ValueId id) { return step.step[id].input_kind == InputKind::kScalar; });
  out.scalars = block(scalars * static_cast<std::int64_t>(kScalarSlotBytes));
  out.arena = block(std::max(step.gradient.arena_bytes, step.update.arena_bytes));
  if (step.has_gradient_program()) {
    out.gradient_sums = block(step.reduction.bytes) * reduction_buffers(micro_batches);
  }
  const std::vector<bool> is_update = updates_of(step);
  for (std::size_t i = 0; i < step.update.donated_inputs.size(); ++i)
    if (step.update.donated_inputs[i] < 0 && is_update[step_output(step, i)])
      out.updates += output_bytes(step.update.graph, i);
  out.results = result_bytes(step, micro_batches);
  return out;
}

std::vector<bool> updates_of(const CompiledStep& step) {
  std::vector<bool> out(step.step.outputs.size());
  for (const Update& update : step.step.updates)
    out[static_cast<std::size_t>(update.output)] = true;
  return out;
}

std::int64_t result_bytes(const CompiledStep& step, std::int64_t micro_batches) {
  std::int64_t out = 0;
  const std::vector<bool> is_update = updates_of(step);
  for (std::size_t i = step.split.reduced.size(); i < step.gradient.graph.outputs.size(); ++i)
    out += micro_batches * output_bytes(step.gradient.graph, i);
  for (std::size_t i = 0; i < step.update.donated_inputs.size(); ++i)
    if (step.update.donated_inputs[i] < 0 && !is_update[step_output(step, i)])
      out += output_bytes(step.update.graph, i);
  return out;
}

}  // namespace lockstep
