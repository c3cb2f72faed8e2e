// What a config asks for that a run of its length does not do. The run is as good as without it,
// but it is hardly what was meant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep {

/// A sentence each, with the place of the key and what to do. `steps`: how long the run is.
std::vector<std::string> config_warnings(const LoadedConfig& loaded, const Registry& registry,
                                         std::int64_t steps);

}  // namespace lockstep
