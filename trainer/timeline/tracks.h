// Which track of a timeline a span lies in. Within a track spans nest: any two are one in the
// other, or apart.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/timeline/recorded_spans.h"

namespace lockstep {

struct TimelineTrack {
  std::string name;  ///< "host", "device", "communication", "communication 2", "loader", ...
  SpanTrack kind = SpanTrack::kHost;
  /// In RecordedSpans::spans: by begin, the outer one first.
  std::vector<std::size_t> spans;
};

/// A track for each thread, by what it does, and as many for communication as buckets are on their
/// way at once. The host's first, then the device's.
std::vector<TimelineTrack> make_tracks(const RecordedSpans& recorded);

/// "host", "device", "transfer", "communication", "loader", "checkpoint".
const char* name_of(SpanTrack track);

}  // namespace lockstep
