// Whether a kernel's result is right: within the bounds that tests/roundoff/estimate.h derives for
// its op on exact operands.
#pragma once

#include <string>

#include "tests/core/ops/op_cases.h"

namespace lockstep {

/// Empty if `result` is acceptable as the result of the case; else says where it is not.
std::string find_error(const OpCase& op_case, const HostTensor& result);

}  // namespace lockstep
