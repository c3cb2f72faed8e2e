#include "trainer/timeline/tracks.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace lockstep {
namespace {

constexpr std::array kOrder = {SpanTrack::kHost,     SpanTrack::kDevice,
                               SpanTrack::kTransfer, SpanTrack::kCommunication,
                               SpanTrack::kLoader,   SpanTrack::kCheckpoint};

struct Lane {
  std::vector<std::size_t> spans;
  std::vector<std::int64_t> open_ends;  ///< of the spans that are still open, the outer first
};

/// Lanes in which spans nest, or, if not `nests`, follow one another.
std::vector<Lane> make_lanes(const std::vector<RecordedSpan>& spans,
                             std::vector<std::size_t> indices, bool nests) {
  std::sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
    const RecordedSpan& x = spans[a];
    const RecordedSpan& y = spans[b];
    if (x.begin_ns != y.begin_ns) return x.begin_ns < y.begin_ns;
    if (x.end_ns != y.end_ns) return x.end_ns > y.end_ns;
    return a > b;  // on one thread the outer span ends later
  });
  std::vector<Lane> out;
  for (const std::size_t index : indices) {
    const RecordedSpan& span = spans[index];
    const auto takes = [&](Lane& lane) {
      std::vector<std::int64_t>& open = lane.open_ends;
      while (!open.empty() && open.back() <= span.begin_ns) open.pop_back();
      return open.empty() || (nests && open.back() >= span.end_ns);
    };
    auto lane = std::ranges::find_if(out, takes);
    if (lane == out.end()) lane = out.emplace(out.end());
    lane->spans.push_back(index);
    lane->open_ends.push_back(span.end_ns);
  }
  return out;
}

}  // namespace

const char* name_of(SpanTrack track) {
  switch (track) {
    case SpanTrack::kHost: return "host";
    case SpanTrack::kDevice: return "device";
    case SpanTrack::kTransfer: return "transfer";
    case SpanTrack::kCommunication: return "communication";
    case SpanTrack::kLoader: return "loader";
    case SpanTrack::kCheckpoint: return "checkpoint";
  }
  __builtin_unreachable();
}

std::vector<TimelineTrack> make_tracks(const RecordedSpans& recorded) {
  struct Thread {
    SpanTrack role = SpanTrack::kHost;
    std::vector<std::size_t> spans;
  };
  std::map<std::uint64_t, Thread> threads;
  std::vector<std::size_t> buckets;
  for (std::size_t i = 0; i < recorded.spans.size(); ++i) {
    const RecordedSpan& span = recorded.spans[i];
    const SpanTrack track = facts_of(span.kind).track;
    if (track == SpanTrack::kCommunication) {
      buckets.push_back(i);
      continue;
    }
    Thread& thread = threads[span.thread];
    // The device's thread also copies values for functions on the host; the host's thread may copy
    // some.
    const bool is_plain = track != SpanTrack::kTransfer;
    if (thread.spans.empty() || track == SpanTrack::kDevice ||
        (is_plain && thread.role == SpanTrack::kTransfer))
      thread.role = track;
    thread.spans.push_back(i);
  }
  std::vector<TimelineTrack> out;
  std::map<SpanTrack, int> count;
  const auto add = [&](SpanTrack kind, std::vector<std::size_t> spans) {
    const bool nests = kind != SpanTrack::kCommunication;
    for (Lane& lane : make_lanes(recorded.spans, std::move(spans), nests)) {
      const int number = ++count[kind];
      std::string name = name_of(kind);
      if (number > 1) name += " " + std::to_string(number);
      out.push_back({std::move(name), kind, std::move(lane.spans)});
    }
  };
  for (const SpanTrack kind : kOrder) {
    // NOLINTNEXTLINE(bugprone-use-after-move): each kind comes once
    if (kind == SpanTrack::kCommunication) add(kind, std::move(buckets));
    for (auto& [id, thread] : threads)
      if (thread.role == kind) add(kind, std::move(thread.spans));
  }
  return out;
}

}  // namespace lockstep
