#include "trainer/optimizers/optimizer.h"

#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config) {
  switch (config.name) {
    case OptimizerName::kAdamW: return std::make_unique<AdamW>(config);
    case OptimizerName::kSgd: return std::make_unique<Sgd>(config);
  }
  __builtin_unreachable();
}

}  // namespace lockstep
