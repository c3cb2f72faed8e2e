// Rules that span several keys: a head count that divides the width, a tokenizer for text, labels
// for every image file.
#pragma once

#include "trainer/settings/config.h"
#include "trainer/settings/report_problem.h"

namespace lockstep {

class Registry;

/// Reports every rule that `config` breaks, those of its model and its dataset included.
void check_config(const Config& config, const Registry& registry, const ReportProblem& report);

/// Checks the settings of a session, independent of what it trains.
void check_session(const Config& config, const ReportProblem& report);

}  // namespace lockstep
