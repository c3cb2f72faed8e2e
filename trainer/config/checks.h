// Rules that span several keys: a head count that divides the width, a tokenizer for text, labels
// for every image file.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/base/api.h"
#include "trainer/config/config.h"

namespace LOCKSTEP_API lockstep {

class Registry;

/// Receives a problem: the keys it involves, the main one first, and a text.
using ReportProblem =
    std::function<void(std::initializer_list<std::string_view> keys, std::string message)>;

/// Reports every rule that `config` breaks, including those of its model and its dataset.
void check_config(const Config& config, const Registry& registry, const ReportProblem& report);

/// Checks the settings of a session, independent of what it trains.
void check_session(const Config& config, const ReportProblem& report);

}  // namespace lockstep
