// Internal to core/trace; remat.h is for users.
#pragma once

#include <vector>

#include "core/base/api.h"
#include "core/ir/graph.h"

namespace LOCKSTEP_API lockstep {

/// Pending nodes [begin, end) that gradients() computes again instead of keeping them (remat.h).
struct RematRegion {
  ValueId begin = 0;             ///< first node
  ValueId end = 0;               ///< behind the last node
  std::vector<ValueId> outputs;  ///< kept
  Origin origin;                 ///< of the call that asked for it
};

}  // namespace lockstep
