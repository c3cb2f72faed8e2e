// Assigns spans to tracks of a timeline. Within a track spans nest: of any two, one contains the
// other, or they do not overlap.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/timeline/recorded_spans.h"

namespace lockstep {

struct TimelineTrack {
  std::string name;  ///< "host", "device", "communication", "communication 2", "loader", ...
  SpanTrack kind = SpanTrack::kHost;
  /// Indices in RecordedSpans::spans, ordered by begin, the outer one first.
  std::vector<std::size_t> spans;
};

/// A track for each thread, named by its work, and as many for communication as there are buckets
/// in flight at once. The host's first, then the device's.
std::vector<TimelineTrack> make_tracks(const RecordedSpans& recorded);

/// "host", "device", "transfer", "communication", "loader", "checkpoint".
const char* name_of(SpanTrack track);

}  // namespace lockstep
