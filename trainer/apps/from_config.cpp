#include "trainer/apps/from_config.h"

#include "trainer/registry/registry.h"

namespace lockstep {

DType compute_dtype(Precision precision) {
  return precision == Precision::kFp32 ? DType::kF32 : DType::kBF16;
}

TrainingState make_training_state(const Config& config, const Registry& registry, Module& module) {
  return {module, registry.make_optimizer(config.optimizer),
          compute_dtype(config.training.precision)};
}

Padding padding_of(const DataConfig& data) {
  return {.mode = data.padding,
          .buckets = data.buckets,
          .max_buckets = data.max_buckets,
          .multiple_of = data.pad_to_multiple_of};
}

StepSampler training_sampler(const Config& config, const DatasetPtr& train) {
  return make_step_sampler(train, static_cast<std::uint64_t>(config.run.seed),
                           config.batch.global_batch_size, config.data.shuffle,
                           config.data.group_by_length);
}

}  // namespace lockstep
