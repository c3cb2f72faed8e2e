// Finds settings that have no effect in a run of its length. The run is valid, but the settings are
// probably a mistake.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep {

/// One sentence each, with the location of the key and what to do. `steps`: the length of the run.
std::vector<std::string> config_warnings(const LoadedConfig& loaded, const Registry& registry,
                                         std::int64_t steps);

}  // namespace lockstep
