// `lockstep report`: one HTML file that shows what runs left, for people who would rather look than
// read. It needs no network and no server: the page (trainer/report/page), the chart library and
// the data are in it. Only reads; a run may still train.
#pragma once

#include <string>
#include <vector>

#include "core/ir/machine_limits.h"

namespace lockstep {

class Registry;

/// The report on the runs in these folders, the first one first. `limits`: of this machine.
/// `command`: the words that asked for it, for the page. Error kUsage if a folder is not that of a
/// run; what is damaged in one leaves a notice in the report.
std::string report_html(const std::vector<std::string>& folders, const MachineLimits& limits,
                        const std::string& command, const Registry& registry);

}  // namespace lockstep
