// The update program on given parameters and gradients, on one rank with one micro-batch.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/engine/compile.h"
#include "tests/core/engine/rank.h"
#include "trainer/optimizers/optimizer_step.h"

namespace lockstep {

/// A matrix if it has two dimensions, else a vector; optimizers distinguish them.
struct MadeParameter {
  Shape shape;
  std::vector<float> initial;
};

struct UpdateTraining : Rank {
  UpdateTraining(Optimizer rule, const std::vector<MadeParameter>& made,
                 const Target& target = host_target(), Log& log = Log::null())
      : Rank(CompileOptions{.target = target, .buckets = {}, .verify = true}, {}, log),
        optimizer(std::move(rule)) {
    for (const MadeParameter& one : made) {
      const std::string name = "p" + std::to_string(parameters.all().size());
      const ParameterKind kind =
          one.shape.rank() == 2 ? ParameterKind::kMatrix : ParameterKind::kVector;
      parameters.declare(name, one.shape, kind, Initializer::constant(0)).value =
          put(HostTensor::of(one.shape, one.initial), name);
      for (const std::string& slot : optimizer.slots())
        slots[slot].push_back(
            put(HostTensor::of(one.shape, std::vector<float>(one.initial.size(), 0.0F)), slot));
    }
    state_finite = put(HostTensor::scalar<bool>(true), "state_finite");
  }

  /// One step with these sums of gradients, one per parameter, over `count` samples. The loss is
  /// finite if the gradients are.
  StepSummary step(const std::vector<std::vector<float>>& sums, const UpdateOptions& options,
                   std::int64_t count = 1) {
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < sums.size(); ++i)
      gradients.push_back(reshape(batch({sums[i]}, "batch." + std::to_string(i)),
                                  parameters.all()[i].value.shape()));
    const Loss loss{.sum = sum(gradients.back()),
                    .count = context.scalar(static_cast<double>(count), DType::kI64, "count"),
                    .metrics = {}};
    const std::vector<Parameter*> trained = parameters.trained();
    const StepNumbers result = optimizer_step(
        {optimizer, {}, trained, buffers, slots, state_finite, averages, average_decay}, loss,
        gradients, options);
    engine.mark_step();
    return result.read();
  }

  std::vector<float> values(std::size_t parameter = 0) {
    return values_of(parameters.all()[parameter].value);
  }

  Tensor put(HostTensor value, std::string_view name) {
    return engine.to_device({std::move(value)}, InputKind::kState, name);
  }

  Optimizer optimizer;
  ParameterSet parameters;
  ModuleBufferSet buffers;
  OptimizerState slots;
  Tensor state_finite;
  std::vector<Tensor> averages = {};  ///< of the parameters; none unless a test makes them
  double average_decay = 0;
};

}  // namespace lockstep
