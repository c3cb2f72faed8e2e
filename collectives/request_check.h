// What must hold of a request before any rank sees it.
#pragma once

#include "core/runtime/communicator.h"

namespace lockstep {

/// Error kUsage that names what is wrong with `request` in a job of `size` ranks: a negative count,
/// no data, a dtype that cannot be summed, a root out of range, or an exchange (which has a call of
/// its own).
void check_request(const CollectiveRequest& request, int size);

}  // namespace lockstep
