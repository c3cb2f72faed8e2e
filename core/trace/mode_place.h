// Where a mode of a recording was set.
#pragma once

#include <cstdint>
#include <source_location>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// The line that opened the last ModeScope of a mode.
struct ModePlace {
  std::uint8_t number = 0;     ///< mode_number(), see mode.h
  std::source_location where;  ///< of the ModeScope
};

}  // namespace lockstep
