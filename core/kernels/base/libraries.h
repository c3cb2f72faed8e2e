// The libraries that production kernels come from.
#pragma once

#include <string>

#include "core/ir/target.h"

namespace lockstep {

/// Limits oneDNN to the instructions that kernels for `target` may use. The limit holds for the
/// process and is fixed by the first kernel that uses oneDNN: call this before any kernel is made.
/// Without a call oneDNN uses everything that the processor has. Error kUsage naming both limits if
/// it is fixed to another one.
void limit_onednn(const Target& target);

std::string onednn_version();  ///< "2.6.0"
std::string llvm_version();    ///< "19.1.7"

}  // namespace lockstep
