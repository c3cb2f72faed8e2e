#include "trainer/from_config.h"

#include "trainer/registry/registry.h"

namespace lockstep {

DType compute_dtype(Precision precision) {
  return precision == Precision::kFp32 ? DType::kF32 : DType::kBF16;
}

TrainingState make_training_state(const Config& config, const Registry& registry, Module& module) {
  return {module, registry.make_optimizer(config.optimizer),
          compute_dtype(config.training.precision)};
}

}  // namespace lockstep
