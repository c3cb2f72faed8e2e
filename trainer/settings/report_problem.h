// How a rule that a config breaks is told: by what has the rule, to whoever knows the file and the
// line.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// Receives a problem: the keys it involves, the first of which gets the blame, and what is wrong.
using ReportProblem =
    std::function<void(std::initializer_list<std::string_view> keys, std::string message)>;

}  // namespace lockstep
