// A trace as JSON for chrome://tracing and other tools that do not read Perfetto's format.
#pragma once

#include <iosfwd>

#include "trainer/timeline/read_trace.h"

namespace lockstep {

/// {"traceEvents": [...]}: slices as complete events, flows, values as counters; times in
/// microseconds since the first event.
void write_chrome_json(const TraceFile& trace, std::ostream& out);

}  // namespace lockstep
