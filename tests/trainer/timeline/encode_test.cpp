// The recorded events of some steps, and the trace made from them.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/core/engine/rank.h"
#include "trainer/timeline/chrome_json.h"
#include "trainer/timeline/encode_timeline.h"
#include "trainer/timeline/read_trace.h"
#include "trainer/timeline/span_recorder.h"
#include "trainer/timeline/tracks.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Recording {
  explicit Recording(StepWindow window, std::size_t max_events = SpanRecorder::kMaxEvents)
      : recorder(spans, programs, window, max_events) {}

  void span(SpanKind kind, std::int64_t begin, std::int64_t end, std::int64_t step,
            std::uint64_t correlation = 0, SpanArgs args = {}) {
    spans.record({.kind = kind,
                  .begin_ns = begin,
                  .end_ns = end,
                  .step = step,
                  .correlation = correlation,
                  .args = args});
  }
  RecordedSpans take() {
    recorder.stop();
    return recorder.take();
  }
  TraceFile decoded(int rank = 0) {
    const RecordedSpans recorded = take();
    return read_trace(encode_timeline({.rank = rank, .host = "", .recorded = recorded}), "trace");
  }

  ManualClock clock;
  Metrics metrics{clock};
  SpanStream spans{clock, metrics};
  ProgramTable programs;
  SpanRecorder recorder;
};

std::vector<TraceEvent> slices_of(const TraceFile& trace, const std::string& track) {
  std::vector<TraceEvent> out;
  for (const TraceEvent& event : trace.events)
    if (event.kind == TraceEvent::Kind::kSlice && trace.tracks.at(event.track).name == track)
      out.push_back(event);
  return out;
}

TEST(Recorder, HearsNothingBeforeAndAfter) {
  Recording recording({3, 4});
  EXPECT_FALSE(recording.spans.is_heard(SpanKind::kCommand));
  recording.recorder.start();
  EXPECT_TRUE(recording.spans.is_heard(SpanKind::kCommand));
  EXPECT_TRUE(recording.spans.wants_levels());
  recording.recorder.stop();
  EXPECT_FALSE(recording.spans.is_heard(SpanKind::kCommand));
  EXPECT_FALSE(recording.spans.wants_levels());
}

TEST(Recorder, KeepsTheWindowsStepsAndWhatIsOfNone) {
  Recording recording({3, 4});
  recording.recorder.start();
  for (std::int64_t step = -1; step < 7; ++step)
    recording.span(SpanKind::kTrace, 10 * step, 10 * step + 5, step);
  std::vector<std::int64_t> steps;
  for (const RecordedSpan& span : recording.take().spans) steps.push_back(span.step);
  EXPECT_THAT(steps, ElementsAre(-1, 3, 4));
}

TEST(Recorder, CountsWhatItHasNoRoomFor) {
  Recording recording({0, 0}, 5);
  recording.recorder.start();
  recording.spans.level(LevelKind::kQueueDepth, 1);
  for (int i = 0; i < 7; ++i) recording.span(SpanKind::kTrace, i, i + 1, 0);
  const RecordedSpans recorded = recording.take();
  EXPECT_THAT(recorded.spans, SizeIs(4));
  EXPECT_THAT(recorded.levels, SizeIs(1));
  EXPECT_EQ(recorded.dropped, 3);
}

TEST(Tracks, OfBucketsAreAsManyAsAreOnTheirWayAtOnce) {
  Recording recording({0, 0});
  recording.recorder.start();
  recording.span(SpanKind::kAllReduce, 10, 50, 0);
  recording.span(SpanKind::kAllReduce, 20, 40, 0);  // within the first, and yet beside it
  recording.span(SpanKind::kAllReduce, 45, 70, 0);
  recording.span(SpanKind::kAllReduce, 50, 60, 0);
  const RecordedSpans recorded = recording.take();
  const std::vector<TimelineTrack> tracks = make_tracks(recorded);
  ASSERT_THAT(tracks, SizeIs(2));
  EXPECT_EQ(tracks[0].name, "communication");
  EXPECT_THAT(tracks[0].spans, ElementsAre(0, 3));
  EXPECT_EQ(tracks[1].name, "communication 2");
  EXPECT_THAT(tracks[1].spans, ElementsAre(1, 2));
}

TEST(Timeline, NestsWhatOneThreadDid) {
  Recording recording({0, 0});
  recording.recorder.start();
  recording.span(SpanKind::kDispatch, 100, 110, 0);
  recording.span(SpanKind::kDispatch, 110, 110, 0);
  recording.span(SpanKind::kDispatch, 110, 130, 0);
  recording.span(SpanKind::kExecute, 100, 140, 0);
  recording.span(SpanKind::kExposedGap, 140, 150, 0);
  const std::vector<TraceEvent> events = slices_of(recording.decoded(), "device");
  std::vector<std::tuple<std::string, int, std::int64_t, std::int64_t>> found;
  for (const TraceEvent& event : events)
    found.emplace_back(event.name, event.depth, event.begin_ns, event.end_ns);
  EXPECT_THAT(found,
              ElementsAre(std::tuple("dispatch", 1, 100, 110),
                          std::tuple("dispatch", 2, 110, 110),  // in what begins there
                          std::tuple("dispatch", 1, 110, 130), std::tuple("execute", 0, 100, 140),
                          std::tuple("idle", 0, 140, 150)));
}

TEST(Timeline, PutsRanksBesideEachOther) {
  std::string bytes;
  for (int rank = 0; rank < 3; ++rank) {
    Recording recording({0, 0});
    recording.recorder.start();
    recording.span(SpanKind::kExecute, 5, 9, 0, 1);
    recording.span(SpanKind::kCut, 1, 4, 0, 1);
    const RecordedSpans recorded = recording.take();
    bytes += encode_timeline({.rank = rank, .host = "", .recorded = recorded});
  }
  const TraceFile trace = read_trace(bytes, "trace");
  std::set<std::string> processes;
  std::set<std::uint64_t> flows;
  for (const TraceEvent& event : trace.events) {
    if (event.kind != TraceEvent::Kind::kSlice) continue;
    processes.insert(trace.tracks.at(event.track).process);
    if (event.name == "execute") {
      ASSERT_THAT(event.ending_flows, SizeIs(1));
      flows.insert(event.ending_flows[0]);
    }
  }
  EXPECT_THAT(processes, ElementsAre("rank 0", "rank 1", "rank 2"));
  EXPECT_THAT(flows, SizeIs(3));
}

TEST(Timeline, PutsAnotherHostsTimesOnThatOfRankZero) {
  Recording recording({0, 0});
  recording.recorder.start();
  recording.span(SpanKind::kExecute, 1500, 2000, 0);
  const RecordedSpans recorded = recording.take();
  const NodeClock clock({.at_ns = 1000, .offset_ns = 100, .uncertainty_ns = 7},
                        {.at_ns = 2000, .offset_ns = 120, .uncertainty_ns = 5});
  const TraceFile trace = read_trace(
      encode_timeline({.rank = 1, .host = "far", .recorded = recorded, .clock = clock}), "trace");
  const std::vector<TraceEvent> events = slices_of(trace, "device");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].begin_ns, 1390);
  EXPECT_EQ(events[0].end_ns, 1880);
  EXPECT_EQ(trace.tracks.at(events[0].track).process, "rank 1 on far");
  for (const TraceEvent& event : trace.events) {
    if (event.name != "clock") continue;
    const std::map<std::string, TraceEvent::Argument> arguments(event.arguments.begin(),
                                                                event.arguments.end());
    EXPECT_EQ(std::get<std::int64_t>(arguments.at("offset_ns at begin")), 100);
    EXPECT_EQ(std::get<std::int64_t>(arguments.at("offset_ns at end")), 120);
    EXPECT_EQ(std::get<std::int64_t>(arguments.at("uncertainty_ns")), 7);
  }
}

TEST(Timeline, NamesCommandsOfProgramsThatAreGone) {
  RecordedSpans recorded;
  {
    Rank rank;
    SpanRecorder recorder(rank.spans, rank.engine.programs(), {0, 0});
    recorder.start();
    Tensor p = rank.variable({1, 2});
    p.assign(p * p);
    rank.engine.mark_step();
    rank.engine.wait();
    recorder.stop();
    recorded = recorder.take();
  }
  const TraceFile trace =
      read_trace(encode_timeline({.rank = 0, .host = "", .recorded = recorded}), "trace");
  int commands = 0;
  for (const TraceEvent& event : trace.events) {
    const std::map<std::string, TraceEvent::Argument> arguments(event.arguments.begin(),
                                                                event.arguments.end());
    if (!arguments.contains("shapes")) continue;
    ++commands;
    EXPECT_THAT(std::get<std::string>(arguments.at("shapes")), HasSubstr("f32[2] (f32[2]"));
    EXPECT_THAT(std::get<std::string>(arguments.at("line")), HasSubstr("encode_test.cpp"));
    EXPECT_EQ(std::get<std::int64_t>(arguments.at("FLOPs")), 2);
  }
  EXPECT_EQ(commands, 1);
}

TEST(Timeline, IsReadStrictly) {
  for (const std::string bytes : {"", "something else", "\x0a\x02"})
    EXPECT_THAT(data_error([&] { read_trace(bytes, "a.file"); }),
                HasSubstr("a.file is not a trace of lockstep"));
  // An end without a begin.
  Recording recording({0, 0});
  recording.recorder.start();
  recording.span(SpanKind::kExecute, 1, 2, 0);
  const RecordedSpans recorded = recording.take();
  std::string bytes = encode_timeline({.rank = 0, .host = "", .recorded = recorded});
  const std::size_t last = bytes.rfind('\x0a');
  ASSERT_NE(last, std::string::npos);
  bytes += bytes.substr(last);
  EXPECT_THAT(data_error([&] { read_trace(bytes, "a.file"); }), HasSubstr("a.file is not a trace"));
}

TEST(ChromeJson, IsTextWhateverModulesAreCalled) {
  Recording recording({0, 0});
  recording.recorder.start();
  recording.spans.record(
      {.kind = SpanKind::kHostCall, .begin_ns = 1, .end_ns = 2, .step = 0, .name = "caf\xe9"});
  std::ostringstream out;
  write_chrome_json(recording.decoded(), out);
  EXPECT_TRUE(nlohmann::json::accept(out.str()));
  EXPECT_THAT(out.str(), HasSubstr("host call: caf\xef\xbf\xbd"));
}

TEST(ChromeJson, HasTheSameEvents) {
  Recording recording({0, 0});
  recording.recorder.start();
  recording.clock.advance_ns(1'000'000);
  recording.span(SpanKind::kTrace, 1'000'000, 1'000'400, 0, 7);
  recording.span(SpanKind::kCut, 1'000'500, 1'000'600, 0, 7);
  recording.spans.level(LevelKind::kDeviceMemory, 4096);
  std::ostringstream out;
  write_chrome_json(recording.decoded(), out);
  const auto events = nlohmann::json::parse(out.str())["traceEvents"];
  std::map<std::string, int> kinds;
  for (const auto& event : events) {
    ++kinds[event["ph"]];
    if (event["ph"] == "C") {
      EXPECT_EQ(event["args"]["value"], 4096);
    }
    if (event["name"] != "cut") continue;
    EXPECT_NEAR(event["ts"], 0.5, 1e-9);
    EXPECT_NEAR(event["dur"], 0.1, 1e-9);
  }
  EXPECT_EQ(kinds, (std::map<std::string, int>{
                       {"C", 1}, {"M", 2}, {"X", 2}, {"f", 1}, {"i", 1}, {"s", 1}}));
}

}  // namespace
}  // namespace lockstep
