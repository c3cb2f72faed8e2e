// All records of a run as one table: a row for each record, a column for each measurement that any
// of them has, in order of first appearance behind step, epoch and wall_time.
#pragma once

#include <string>
#include <vector>

#include "trainer/telemetry/record.h"

namespace lockstep {

/// Comma-separated values: all digits; a value that was not measured is empty, one that was not
/// finite is "nan".
std::string metrics_csv(const std::vector<TelemetryRecord>& records);

/// A list of objects, one a line, with all columns: null for a value that was not measured or not
/// finite.
std::string metrics_json(const std::vector<TelemetryRecord>& records);

}  // namespace lockstep
