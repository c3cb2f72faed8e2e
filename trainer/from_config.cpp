#include "trainer/from_config.h"

#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {

Optimizer make_optimizer(const OptimizerConfig& config) {
  switch (config.name) {
    case OptimizerName::kAdamW:
      return AdamW{.learning_rate = config.learning_rate,
                   .betas = config.betas,
                   .eps = config.eps,
                   .weight_decay = config.weight_decay};
    case OptimizerName::kSgd:
      return Sgd{.learning_rate = config.learning_rate,
                 .momentum = config.momentum,
                 .weight_decay = config.weight_decay};
  }
  __builtin_unreachable();
}

DType compute_dtype(Precision precision) {
  return precision == Precision::kFp32 ? DType::kF32 : DType::kBF16;
}

TrainingState make_training_state(const Config& config, Module& module) {
  return {module, make_optimizer(config.optimizer), compute_dtype(config.training.precision)};
}

}  // namespace lockstep
