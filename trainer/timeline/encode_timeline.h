// A rank's spans in Perfetto's format (ui.perfetto.dev): its own packet sequence, with its own
// interned strings and tracks, so that the concatenated bytes of several ranks are one trace.
//
// A span is a slice. The name of a device command is its op and module path; its category is its
// class of work, its source location is the user's line, and its arguments are "shapes", "FLOPs",
// "GFLOP/s" and "GB/s" (bytes read and written). The recording that a cut ended, its execution, and
// the all-reduces of that are a flow. The instant "clock" holds the comparison of the rank's clock
// with rank 0's.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/timeline/node_clocks.h"
#include "trainer/timeline/recorded_spans.h"

namespace lockstep {

struct RankTimeline {
  int rank = 0;
  std::string host;  ///< "" if unknown
  const RecordedSpans& recorded;
  NodeClock clock = {};
};

std::string encode_timeline(const RankTimeline& timeline);

}  // namespace lockstep
