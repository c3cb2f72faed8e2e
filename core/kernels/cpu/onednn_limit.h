// What oneDNN is kept within: the instruction set that the process was asked for (limit_onednn of
// core/kernels/base/libraries.h), and one thread.
#pragma once

namespace lockstep {

/// Before every call: oneDNN is built with OpenMP, whose thread count is a property of the calling
/// thread, and every thread says "one". Costs a few nanoseconds.
void enter_onednn();

}  // namespace lockstep
