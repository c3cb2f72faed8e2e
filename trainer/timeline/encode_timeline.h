// A rank's spans in Perfetto's format (ui.perfetto.dev): a packet sequence of its own, with what it
// interns and tracks that no other rank has, so that the bytes of several ranks, one after the
// other, are one trace.
//
// A span is a slice. A device command is called by its op and module path; its category is its
// class of work, its source location the user's line, and its arguments are "shapes", "FLOPs",
// "GFLOP/s" and "GB/s" (what it read and wrote). What a cut recorded, its execution, and the
// all-reduces of that are a flow. The instant "clock" says how the rank's clock was compared with
// rank 0's.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/timeline/node_clocks.h"
#include "trainer/timeline/recorded_spans.h"

namespace lockstep {

struct RankTimeline {
  int rank = 0;
  std::string host;  ///< "" if it is not known
  const RecordedSpans& recorded;
  NodeClock clock = {};
};

std::string encode_timeline(const RankTimeline& timeline);

}  // namespace lockstep
