// A machine's limits as text for people.
#pragma once

#include <string>

#include "core/ir/machine_limits.h"

namespace lockstep {

/// A few tables. A figure whose rounds differed by more than a tenth has a "~" before it.
std::string to_table(const MachineLimits& limits);

}  // namespace lockstep
