#include "trainer/training_step.h"

#include "core/trace/gradients.h"

namespace lockstep {

StepInputs make_step_inputs(Engine& engine, std::int64_t first_shard, std::int64_t shards,
                            std::uint64_t seed) {
  std::vector<HostTensor> numbers;
  for (std::int64_t i = 0; i < shards; ++i)
    numbers.push_back(HostTensor::scalar<std::int64_t>(first_shard + i));
  return {engine.to_device(std::move(numbers), InputKind::kBatch, "shard"), seed};
}

StepResult record_step(TrainingState& state, const TensorMap& batch, const StepInputs& inputs,
                       const UpdateOptions& update) {
  TraceContext& context = inputs.shard.context();
  const RandomKey key{context.scalar(static_cast<double>(inputs.seed), DType::kI64, "seed"),
                      context.scalar(static_cast<double>(update.step), DType::kI64, "step"),
                      inputs.shard};
  const ModelOutput output = state.model->forward(batch, {.training = true, .key = key});
  const std::vector<Tensor> parameters = state.model->parameters().values();
  const std::vector<Tensor> grads = gradients(output.loss_sum, parameters);
  return optimizer_step(state.optimizer, state.model->parameters(), state.slots, state.sound,
                        output, grads, update);
}

}  // namespace lockstep
