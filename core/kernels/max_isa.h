// How much of the processor the kernels may use.
#pragma once

#include "core/base/settings.h"
#include "core/ir/target.h"

namespace lockstep {

/// Keeps oneDNN within what kernels for `target` may use, which is host_target(max) or less. Its
/// limit is one for the process and is fixed by the first kernel that uses it: call this before any
/// is made. Later calls change nothing.
void limit_kernels(const Target& target, MaxIsa max);

}  // namespace lockstep
