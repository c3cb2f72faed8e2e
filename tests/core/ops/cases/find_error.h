// Checks whether a kernel's result is right: within the bounds that tests/roundoff/estimate.h
// derives for its op on exact operands.
#pragma once

#include <functional>
#include <string>

#include "tests/core/ops/cases/op_cases.h"

namespace lockstep {

/// For any number of results of one case, which is evaluated once: empty if the result is
/// acceptable, else the place of the error.
std::function<std::string(const HostTensor&)> error_finder(const OpCase& op_case);

/// The same for a single result.
std::string find_error(const OpCase& op_case, const HostTensor& result);

}  // namespace lockstep
