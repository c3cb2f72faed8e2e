#include "trainer/train/training_step.h"

#include "core/base/error.h"
#include "core/trace/gradients.h"
#include "core/trace/mode.h"
#include "trainer/train/twice_divided.h"

namespace lockstep {
namespace {

/// A value that a step computed for a micro-batch cannot be an input of another step: its samples
/// are unknown there, and ranks may differ in their number of micro-batches. Given inputs have
/// names.
void check_inputs(const Graph& graph) {
  for (const ValueId input : graph.inputs) {
    const Node& kept = graph[input];
    if (kept.input_kind != InputKind::kBatch || !kept.name.empty()) continue;
    for (const Node& node : graph.nodes)
      for (const ValueId operand : node.operands)
        LS_USER_CHECK(
            operand != input,
            "{}: the loss uses a tensor of {} that was computed from its batch before the step was "
            "cut, by a read of a value or by the step's end: read after the step, or in a "
            "host_call(); to keep a value between steps, use a buffer of a module",
            node.origin.to_string(), kept.type.to_string());
  }
}

/// Calls record(); if it throws, drops what it recorded.
template <class F>
auto record_whole(TraceContext& context, const std::source_location& where, const F& record) {
  context.set_caller(where);
  try {
    auto out = record();
    context.set_caller({});
    return out;
  } catch (...) {
    context.set_caller({});
    context.discard();
    throw;
  }
}

void check_divisions(const Loss& loss, const Batch& batch, const LossCaller& caller) {
  const auto check = [&](const Ratio& ratio, const std::string& what) {
    const auto found = find_twice_divided(ratio, batch, what);
    if (!found) return;
    LS_USER_CHECK(!found->certain, "{}", found->text);
    if (caller.warn) caller.warn(found->text);
  };
  check({loss.sum, loss.count}, "the loss");
  for (const auto& [name, ratio] : loss.metrics) check(ratio, fmt::format("metric '{}'", name));
}

Loss record_loss(const LossFunction& loss, const Batch& batch, TraceContext& context, Mode mode,
                 const LossCaller& caller) {
  const ModeScope scope(context, std::move(mode), caller.where);
  Loss out = loss(batch);
  check_loss(out, caller.where);
  check_inputs(context.pending());
  check_divisions(out, batch, caller);
  return out;
}

}  // namespace

StepInputs make_step_inputs(Engine& engine, std::int64_t first_micro_batch,
                            std::int64_t micro_batches, std::uint64_t seed) {
  std::vector<HostTensor> numbers;
  numbers.reserve(static_cast<std::size_t>(micro_batches));
  for (std::int64_t i = 0; i < micro_batches; ++i)
    numbers.push_back(HostTensor::scalar<std::int64_t>(first_micro_batch + i));
  return {engine.to_device(std::move(numbers), InputKind::kBatch, "micro_batch"), seed};
}

StepNumbers record_step(TrainingState& state, const LossFunction& loss, const Batch& batch,
                        const StepInputs& inputs, const UpdateOptions& update,
                        const LossCaller& caller) {
  TraceContext& context = inputs.micro_batch.context();
  Mode mode{.training = true, .compute_dtype = state.compute_dtype, .forbids_reads = true};
  mode.key = {context.scalar(static_cast<double>(inputs.seed), DType::kI64, "seed"),
              context.scalar(static_cast<double>(update.step), DType::kI64, "step"),
              inputs.micro_batch};
  for (ModuleBuffer& buffer : state.module.buffers().all())
    buffer.take_updates();  // drops those of a loss that threw
  return record_whole(context, caller.where, [&] {
    const Loss output = record_loss(loss, batch, context, std::move(mode), caller);
    std::vector<Tensor> values;
    values.reserve(state.trained.size());
    for (const Parameter* parameter : state.trained) values.push_back(parameter->value);
    const std::vector<Tensor> grads = gradients(output.sum, values);
    return optimizer_step({state.optimizer, state.groups, state.trained, state.module.buffers(),
                           state.slots, state.state_finite, state.averages(), state.ema},
                          output, grads, update);
  });
}

Loss record_evaluation(const LossFunction& loss, const Batch& batch, DType compute_dtype,
                       LossOutputs outputs, const LossCaller& caller) {
  LS_CHECK(!batch.fields().empty(), "a batch without fields");
  TraceContext& context = batch.fields().begin()->second.context();
  return record_whole(context, caller.where, [&] {
    Loss out = record_loss(loss, batch, context,
                           {.compute_dtype = compute_dtype, .forbids_reads = true}, caller);
    if (outputs == LossOutputs::kDrop) out.outputs.clear();
    return out;
  });
}

}  // namespace lockstep
