// The libraries that production kernels come from.
#pragma once

#include <string>

#include "core/ir/target.h"

namespace lockstep {

/// Keeps oneDNN within what kernels for `target` may use. Its limit is one for the process and is
/// fixed by the first kernel that uses it: call this before any is made. Without a call oneDNN uses
/// all that the processor has. Error kUsage naming both if it is fixed to another limit.
void limit_onednn(const Target& target);

std::string onednn_version();  ///< "2.6.0"
std::string llvm_version();    ///< "19.1.7"

}  // namespace lockstep
