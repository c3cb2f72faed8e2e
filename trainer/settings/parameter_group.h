// Parameters that have settings of their own in a config: an entry of optimizer.groups.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// Parameters by patterns of their names, and what is different for them.
struct ParameterGroup {
  std::vector<std::string> match;  ///< patterns of the parameters' names (core/base/name_pattern.h)
  /// Keys of the optimizer with the texts of their values, at least one.
  std::vector<std::pair<std::string, std::string>> settings;
  friend bool operator==(const ParameterGroup&, const ParameterGroup&) = default;
};

}  // namespace lockstep
