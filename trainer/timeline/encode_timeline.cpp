#include "trainer/timeline/encode_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/observe/bundle.h"
#include "core/runtime/compiled_step.h"
#include "core/runtime/plan_cost.h"
#include "trainer/timeline/perfetto_trace.pb.h"
#include "trainer/timeline/tracks.h"

namespace lockstep {
namespace {

using perfetto::TrackEvent;

constexpr std::uint32_t kMonotonic = 3;
constexpr std::uint32_t kSequenceClock = 64;
constexpr std::uint32_t kStateCleared = 1;
constexpr std::uint32_t kNeedsState = 2;
constexpr std::uint64_t kTracksPerRank = std::uint64_t{1} << 16;

/// Strings by number.
class Interner {
 public:
  /// The number of a string, and whether it is new.
  std::pair<std::uint64_t, bool> operator()(const std::string& text) {
    const auto [at, is_new] = ids_.try_emplace(text, ids_.size() + 1);
    return {at->second, is_new};
  }

 private:
  std::unordered_map<std::string, std::uint64_t> ids_;
};

/// Packets of one sequence, ordered by time.
class PacketWriter {
 public:
  explicit PacketWriter(std::uint32_t sequence) : sequence_(sequence) {}

  perfetto::TracePacket& begin() {
    trace_.Clear();
    packet_ = trace_.add_packet();
    packet_->set_trusted_packet_sequence_id(sequence_);
    return *packet_;
  }
  /// The next event of the timeline.
  TrackEvent& begin_event(std::int64_t at_ns) {
    begin().set_sequence_flags(kNeedsState);
    packet_->set_timestamp(static_cast<std::uint64_t>(at_ns - last_ns_));
    last_ns_ = at_ns;
    return *packet_->mutable_track_event();
  }
  /// Defaults of all later packets: times are relative to the previous event, tracks are
  /// `default_track`.
  void start_timeline(std::int64_t at_ns, std::uint64_t default_track) {
    last_ns_ = at_ns;
    perfetto::TracePacket& packet = begin();
    packet.set_sequence_flags(kStateCleared);
    perfetto::ClockSnapshot& clocks = *packet.mutable_clock_snapshot();
    clocks.set_primary_trace_clock(kMonotonic);
    for (const std::uint32_t id : {kMonotonic, kSequenceClock}) {
      perfetto::ClockSnapshot::Clock& clock = *clocks.add_clocks();
      clock.set_clock_id(id);
      clock.set_timestamp(static_cast<std::uint64_t>(at_ns));
      if (id == kSequenceClock) clock.set_is_incremental(true);
    }
    packet.mutable_trace_packet_defaults()->set_timestamp_clock_id(kSequenceClock);
    packet.mutable_trace_packet_defaults()->mutable_track_event_defaults()->set_track_uuid(
        default_track);
    end();
  }
  void end() { trace_.AppendToString(&out_); }

  void set_name(TrackEvent& event, const std::string& name) {
    const auto [id, is_new] = names_(name);
    event.set_name_iid(id);
    if (is_new) add_new(*packet_->mutable_interned_data()->add_event_names(), id, name);
  }
  void add_category(TrackEvent& event, const std::string& category) {
    const auto [id, is_new] = categories_(category);
    event.add_category_iids(id);
    if (is_new) add_new(*packet_->mutable_interned_data()->add_event_categories(), id, category);
  }
  perfetto::DebugAnnotation& add_argument(TrackEvent& event, const std::string& name) {
    const auto [id, is_new] = arguments_(name);
    if (is_new) add_new(*packet_->mutable_interned_data()->add_debug_annotation_names(), id, name);
    perfetto::DebugAnnotation& out = *event.add_debug_annotations();
    out.set_name_iid(id);
    return out;
  }
  void add_text(TrackEvent& event, const std::string& name, const std::string& text) {
    perfetto::DebugAnnotation& argument = add_argument(event, name);
    const auto [id, is_new] = texts_(text);
    argument.set_string_value_iid(id);
    if (!is_new) return;
    auto& interned = *packet_->mutable_interned_data()->add_debug_annotation_string_values();
    interned.set_iid(id);
    interned.set_str(text);
  }

  void set_source(TrackEvent& event, std::string_view file, std::uint32_t line) {
    const auto [id, is_new] = sources_(fmt::format("{}:{}", file, line));
    event.set_source_location_iid(id);
    if (!is_new) return;
    perfetto::SourceLocation& source = *packet_->mutable_interned_data()->add_source_locations();
    source.set_iid(id);
    source.set_file_name(std::string(file));
    source.set_line_number(line);
  }

  std::string take() { return std::move(out_); }

 private:
  static void add_new(perfetto::InternedName& interned, std::uint64_t id, const std::string& name) {
    interned.set_iid(id);
    interned.set_name(name);
  }

  std::uint32_t sequence_;
  std::int64_t last_ns_ = 0;
  perfetto::Trace trace_;
  perfetto::TracePacket* packet_ = nullptr;
  Interner names_;
  Interner categories_;
  Interner arguments_;
  Interner texts_;
  Interner sources_;
  std::string out_;
};

struct TimelineEvent {
  enum class Kind : std::uint8_t { kBegin, kEnd, kLevel };
  std::int64_t at_ns = 0;
  Kind kind = Kind::kBegin;
  std::uint32_t track = 0;  ///< of spans
  std::size_t index = 0;    ///< in RecordedSpans::spans or levels
};

struct Flow {
  std::uint64_t id = 0;
  bool ends = false;
};

/// The description of a command, written whenever it runs.
struct CommandText {
  std::string name;
  std::string category;
  std::string shapes;
  std::string file;
  std::uint32_t line = 0;
  double flops = 0;
  double bytes = 0;
};

CommandText text_of(const CompiledStep& program, bool is_update, std::size_t command) {
  const Plan& plan = is_update ? program.update : program.gradient;
  const CommandBundle bundle{plan, command, next_bundle(plan, command), is_update};
  const Node& node = bundle.node();
  CommandText out;
  const std::size_t count = bundle.end - bundle.begin;
  if (count > 1) out.name = fmt::format("{} at once: ", count);
  out.name += name_of(node.op);
  if (!node.origin.scope.empty()) out.name += fmt::format(" {}", node.origin.scope);
  out.category = name_of(bundle.first().work);
  out.shapes = signature_of(bundle);
  out.file = node.origin.file;
  out.line = node.origin.line;
  const Work work = bundle_work(plan, command);
  out.flops = work.flops;
  out.bytes = work.bytes;
  return out;
}

class Encoder {
 public:
  explicit Encoder(const RankTimeline& timeline)
      : timeline_(timeline),
        recorded_(timeline.recorded),
        tracks_(make_tracks(recorded_)),
        device_track_(find_device_track()),
        writer_(static_cast<std::uint32_t>(timeline.rank) + 1) {}

  std::string run() {
    find_flows();
    const std::vector<TimelineEvent> events = sort_events();
    const std::int64_t begin = events.empty()
                                   ? timeline_.clock.on_timeline(timeline_.clock.begin().at_ns)
                                   : events.front().at_ns;
    writer_.start_timeline(begin, device_track_);
    describe_tracks();
    write_clock(begin);
    for (const TimelineEvent& event : events) write(event);
    return writer_.take();
  }

 private:
  std::uint64_t process() const {
    return (static_cast<std::uint64_t>(timeline_.rank) + 1) * kTracksPerRank;
  }
  std::uint64_t level_track(LevelKind kind) const {
    return process() + 1 + static_cast<std::uint64_t>(kind);
  }
  std::uint64_t span_track(std::size_t track) const {
    return process() + 1 + kLevelKindCount + track;
  }
  std::uint64_t find_device_track() const {
    const auto device = std::ranges::find(tracks_, SpanTrack::kDevice, &TimelineTrack::kind);
    return span_track(static_cast<std::size_t>(device - tracks_.begin()));
  }

  void find_flows() {
    std::map<std::uint64_t, std::vector<std::size_t>> flows;
    for (std::size_t i = 0; i < recorded_.spans.size(); ++i) {
      const RecordedSpan& span = recorded_.spans[i];
      const bool flows_on = span.kind == SpanKind::kTrace || span.kind == SpanKind::kCut ||
                            span.kind == SpanKind::kExecute || span.kind == SpanKind::kAllReduce;
      if (span.correlation != 0 && flows_on) flows[span.correlation].push_back(i);
    }
    for (auto& [correlation, spans] : flows) {
      if (spans.size() < 2) continue;
      std::ranges::sort(spans, {}, [&](std::size_t i) { return recorded_.spans[i].begin_ns; });
      const std::uint64_t id = (static_cast<std::uint64_t>(timeline_.rank) + 1) << 40 | correlation;
      for (const std::size_t i : spans) flows_[i] = {id, i == spans.back()};
    }
  }

  /// Each track's in its own order, in which a span ends before the next one at that time begins.
  std::vector<TimelineEvent> sort_events() const {
    std::vector<TimelineEvent> out;
    out.reserve(2 * recorded_.spans.size() + recorded_.levels.size());
    const auto add = [&](std::int64_t ns, TimelineEvent::Kind kind, std::size_t track,
                         std::size_t index) {
      out.push_back(
          {timeline_.clock.on_timeline(ns), kind, static_cast<std::uint32_t>(track), index});
    };
    for (std::size_t t = 0; t < tracks_.size(); ++t) {
      std::vector<std::size_t> open;
      const auto end_last = [&] {
        add(recorded_.spans[open.back()].end_ns, TimelineEvent::Kind::kEnd, t, open.back());
        open.pop_back();
      };
      for (const std::size_t i : tracks_[t].spans) {
        const RecordedSpan& span = recorded_.spans[i];
        while (!open.empty() && recorded_.spans[open.back()].end_ns <= span.begin_ns) end_last();
        add(span.begin_ns, TimelineEvent::Kind::kBegin, t, i);
        open.push_back(i);
      }
      while (!open.empty()) end_last();
    }
    for (std::size_t i = 0; i < recorded_.levels.size(); ++i)
      add(recorded_.levels[i].at_ns, TimelineEvent::Kind::kLevel, 0, i);
    std::ranges::stable_sort(out, {}, &TimelineEvent::at_ns);
    return out;
  }

  void describe_tracks() {
    const std::int32_t pid = timeline_.rank + 1;
    perfetto::TrackDescriptor& rank = *writer_.begin().mutable_track_descriptor();
    rank.set_uuid(process());
    rank.mutable_process()->set_pid(pid);
    rank.mutable_process()->set_process_name(
        timeline_.host.empty() ? fmt::format("rank {}", timeline_.rank)
                               : fmt::format("rank {} on {}", timeline_.rank, timeline_.host));
    writer_.end();
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
      perfetto::TrackDescriptor& track = *writer_.begin().mutable_track_descriptor();
      track.set_uuid(span_track(i));
      track.set_parent_uuid(process());
      track.set_name(tracks_[i].name);
      if (tracks_[i].kind != SpanTrack::kCommunication) {
        track.mutable_thread()->set_pid(pid);
        track.mutable_thread()->set_tid(static_cast<std::int64_t>(span_track(i)));
        track.mutable_thread()->set_thread_name(tracks_[i].name);
      }
      writer_.end();
    }
    for (std::size_t i = 0; i < kLevelKindCount; ++i) {
      const auto kind = static_cast<LevelKind>(i);
      if (std::ranges::find(recorded_.levels, kind, &Level::kind) == recorded_.levels.end())
        continue;  // virtual time has none
      perfetto::TrackDescriptor& track = *writer_.begin().mutable_track_descriptor();
      track.set_uuid(level_track(kind));
      track.set_parent_uuid(process());
      track.set_name(name_of(kind));
      track.mutable_counter()->set_unit(kind == LevelKind::kDeviceMemory
                                            ? perfetto::CounterDescriptor::UNIT_SIZE_BYTES
                                            : perfetto::CounterDescriptor::UNIT_COUNT);
      writer_.end();
    }
  }

  void write_clock(std::int64_t at_ns) {
    TrackEvent& event = writer_.begin_event(at_ns);
    event.set_type(TrackEvent::TYPE_INSTANT);
    event.set_track_uuid(process());
    writer_.set_name(event, "clock");
    const NodeClock& clock = timeline_.clock;
    writer_.add_argument(event, "offset_ns at begin").set_int_value(clock.begin().offset_ns);
    writer_.add_argument(event, "offset_ns at end").set_int_value(clock.end().offset_ns);
    writer_.add_argument(event, "uncertainty_ns").set_int_value(clock.uncertainty_ns());
    writer_.add_argument(event, "dropped events").set_int_value(recorded_.dropped);
    writer_.end();
  }

  void write(const TimelineEvent& event) {
    TrackEvent& out = writer_.begin_event(event.at_ns);
    switch (event.kind) {
      case TimelineEvent::Kind::kLevel: {
        const Level& level = recorded_.levels[event.index];
        out.set_type(TrackEvent::TYPE_COUNTER);
        out.set_track_uuid(level_track(level.kind));
        out.set_counter_value(level.value);
        break;
      }
      case TimelineEvent::Kind::kEnd:
        out.set_type(TrackEvent::TYPE_SLICE_END);
        set_track(event, out);
        break;
      case TimelineEvent::Kind::kBegin:
        out.set_type(TrackEvent::TYPE_SLICE_BEGIN);
        set_track(event, out);
        describe(event.index, out);
        break;
    }
    writer_.end();
  }

  void set_track(const TimelineEvent& event, TrackEvent& out) const {
    const std::uint64_t uuid = span_track(event.track);
    if (uuid != device_track_) out.set_track_uuid(uuid);
  }

  void describe(std::size_t index, TrackEvent& out) {
    const RecordedSpan& span = recorded_.spans[index];
    if (const auto flow = flows_.find(index); flow != flows_.end()) {
      if (flow->second.ends)
        out.add_terminating_flow_ids(flow->second.id);
      else
        out.add_flow_ids(flow->second.id);
    }
    if (span.kind == SpanKind::kCommand && describe_command(span, out)) return;
    const SpanFacts& facts = facts_of(span.kind);
    const std::string& detail = recorded_.names[span.name];
    writer_.set_name(out, detail.empty() ? facts.name : fmt::format("{}: {}", facts.name, detail));
    writer_.add_category(out, name_of(facts.track));
    if (span.step >= 0) writer_.add_argument(out, "step").set_int_value(span.step);
    for (std::size_t i = 0; i < facts.args.size(); ++i)
      if (facts.args[i] != nullptr)
        writer_.add_argument(out, facts.args[i]).set_int_value(span.args[i]);
  }

  /// False if its program is unknown.
  bool describe_command(const RecordedSpan& span, TrackEvent& out) {
    const auto program = recorded_.programs.find(span.args[0]);
    if (program == recorded_.programs.end()) return false;
    const auto [at, is_new] =
        commands_.try_emplace(std::tuple(span.args[0], span.args[1], span.args[2]));
    CommandText& text = at->second;
    if (is_new)
      text = text_of(*program->second, span.args[1] != 0, static_cast<std::size_t>(span.args[2]));
    writer_.set_name(out, text.name);
    writer_.add_category(out, text.category);
    writer_.add_text(out, "shapes", text.shapes);
    if (!text.file.empty()) writer_.set_source(out, text.file, text.line);
    if (text.flops > 0)
      writer_.add_argument(out, "FLOPs").set_uint_value(static_cast<std::uint64_t>(text.flops));
    const auto ns = static_cast<double>(span.end_ns - span.begin_ns);
    if (ns <= 0) return true;
    if (text.flops > 0) writer_.add_argument(out, "GFLOP/s").set_double_value(text.flops / ns);
    if (text.bytes > 0) writer_.add_argument(out, "GB/s").set_double_value(text.bytes / ns);
    return true;
  }

  const RankTimeline& timeline_;
  const RecordedSpans& recorded_;
  std::vector<TimelineTrack> tracks_;
  std::uint64_t device_track_;  ///< whose events need not name it
  PacketWriter writer_;
  std::unordered_map<std::size_t, Flow> flows_;  ///< by span
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, CommandText> commands_;
};

}  // namespace

std::string encode_timeline(const RankTimeline& timeline) {
  return Encoder(timeline).run();
}

}  // namespace lockstep
