// What oneDNN is kept within: the instruction set that the process was asked for (limit_onednn of
// core/kernels/base/libraries.h), and one thread.
#pragma once

namespace lockstep {

/// Call it before every call of oneDNN, which is built with OpenMP: the thread count is a property
/// of the calling thread, and this sets it to one. Costs a few nanoseconds.
void enter_onednn();

}  // namespace lockstep
