// A machine's limits for people.
#pragma once

#include <string>

#include "core/ir/machine_limits.h"

namespace lockstep {

/// A few tables. A figure whose rounds were more than a tenth apart has a "~" before it.
std::string to_table(const MachineLimits& limits);

}  // namespace lockstep
