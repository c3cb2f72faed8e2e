// Settings with which a run needs less device memory.
#pragma once

#include <string>
#include <vector>

#include "trainer/settings/config.h"

namespace lockstep {

class Registry;

struct Remedy {
  std::string setting;  ///< "training.precision=bf16-mixed"
  Config config;        ///< with it
};

/// Those that the config does not have yet: bf16-mixed, gradient checkpointing where the model has
/// it, and both. They keep the batch, but round or recompute.
std::vector<Remedy> memory_remedies(const Config& config, const Registry& registry);

}  // namespace lockstep
