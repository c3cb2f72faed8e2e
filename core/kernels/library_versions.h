// The libraries that production kernels come from.
#pragma once

#include <string>

namespace lockstep {

std::string onednn_version();  ///< "2.6.0"
std::string llvm_version();    ///< "19.1.7"

}  // namespace lockstep
