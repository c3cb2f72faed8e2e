// How much of the processor the kernels may use.
#pragma once

#include "core/base/settings.h"
#include "core/ir/target.h"

namespace lockstep {

/// host_target() within `max`. Keeps oneDNN within it, too, whose limit is one for the process and
/// is fixed by the first kernel that uses it: call this before any is made. Later calls change
/// oneDNN no more.
Target limited_target(MaxIsa max);

}  // namespace lockstep
