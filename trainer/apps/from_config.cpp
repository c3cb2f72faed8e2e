#include "trainer/apps/from_config.h"

#include <utility>

#include "core/base/error.h"
#include "trainer/config/group_values.h"
#include "trainer/config/schema.h"
#include "trainer/config/values.h"
#include "trainer/registry/registry.h"

namespace lockstep {

DType compute_dtype(Precision precision) {
  return precision == Precision::kFp32 ? DType::kF32 : DType::kBF16;
}

Config with_classes_of(const DataSource& data, Config config, const Registry& registry) {
  const DataNeeds needs = registry.needs(config.model);
  if (needs.classes_key.empty() || needs.n_classes > 0) return config;
  const Schema schema(registry);
  const ConfigKey* key = schema.find(needs.classes_key, config);
  LS_CHECK(key != nullptr, "no key {}", needs.classes_key);
  constexpr std::size_t kUnnamed = 2;
  const std::size_t count = data.classes.empty() ? kUnnamed : data.classes.size();
  const auto problem = set_value(*key, std::to_string(count), config);
  if (problem) raise(ErrorKind::kData, "{}: {}", data.train->describe(), *problem);
  return config;
}

TrainingState make_training_state(const Config& config, const Registry& registry, Module& module) {
  return {module, registry.make_optimizer(config.optimizer),
          compute_dtype(config.training.precision), make_groups(config, registry, module),
          config.training.ema};
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
