#include "trainer/timeline/read_trace.h"

#include "core/base/error.h"
#include "trainer/timeline/perfetto_trace.pb.h"

namespace lockstep {
namespace {

using perfetto::TrackEvent;

using Names = std::map<std::uint64_t, std::string>;

/// The state of a packet sequence from its earlier packets.
struct Sequence {
  Names names;
  Names categories;
  Names arguments;
  Names texts;
  Names sources;
  std::uint64_t default_track = 0;
  std::int64_t now_ns = 0;
  std::map<std::uint64_t, std::vector<TraceEvent>> open;  ///< slices by track, the outer first
};

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  TraceFile run(const std::string& bytes) {
    perfetto::Trace trace;
    check(!bytes.empty() && trace.ParseFromString(bytes), "it does not parse");
    for (const perfetto::TracePacket& packet : trace.packet()) take(packet);
    for (auto& [id, track] : out_.tracks)
      if (const auto process = out_.tracks.find(track.parent); process != out_.tracks.end()) {
        track.process = process->second.name;
        track.pid = process->second.pid;
      }
    return std::move(out_);
  }

 private:
  void check(bool ok, const char* why) const {
    if (!ok) raise(ErrorKind::kData, "{} is not a trace of lockstep: {}", name_, why);
  }

  void take(const perfetto::TracePacket& packet) {
    Sequence& sequence = sequences_[packet.trusted_packet_sequence_id()];
    if (packet.has_clock_snapshot()) {
      sequence = {};
      check(packet.clock_snapshot().clocks_size() > 0, "a snapshot without clocks");
      sequence.now_ns = static_cast<std::int64_t>(packet.clock_snapshot().clocks(0).timestamp());
      sequence.default_track = packet.trace_packet_defaults().track_event_defaults().track_uuid();
    }
    if (packet.has_track_descriptor()) take(packet.track_descriptor());
    const perfetto::InternedData& interned = packet.interned_data();
    for (const auto& name : interned.event_names()) sequence.names[name.iid()] = name.name();
    for (const auto& name : interned.event_categories())
      sequence.categories[name.iid()] = name.name();
    for (const auto& name : interned.debug_annotation_names())
      sequence.arguments[name.iid()] = name.name();
    for (const auto& text : interned.debug_annotation_string_values())
      sequence.texts[text.iid()] = text.str();
    for (const auto& source : interned.source_locations())
      sequence.sources[source.iid()] =
          fmt::format("{}:{}", source.file_name(), source.line_number());
    if (!packet.has_track_event()) return;
    sequence.now_ns += static_cast<std::int64_t>(packet.timestamp());
    take(packet.track_event(), sequence);
  }

  void take(const perfetto::TrackDescriptor& descriptor) {
    TraceTrack& track = out_.tracks[descriptor.uuid()];
    track.name = descriptor.has_process() ? descriptor.process().process_name() : descriptor.name();
    track.pid = descriptor.process().pid();
    track.process = track.name;
    track.parent = descriptor.parent_uuid();
    track.is_counter = descriptor.has_counter();
  }

  void take(const TrackEvent& event, Sequence& sequence) {
    const std::uint64_t track =
        event.has_track_uuid() ? event.track_uuid() : sequence.default_track;
    check(out_.tracks.contains(track), "an event on a track that is not described");
    std::vector<TraceEvent>& open = sequence.open[track];
    if (event.type() == TrackEvent::TYPE_SLICE_END) {
      check(!open.empty(), "a slice ends that has not begun");
      open.back().end_ns = sequence.now_ns;
      out_.events.push_back(std::move(open.back()));
      open.pop_back();
      return;
    }
    TraceEvent out;
    out.track = track;
    out.begin_ns = out.end_ns = sequence.now_ns;
    out.depth = static_cast<int>(open.size());
    if (event.type() == TrackEvent::TYPE_COUNTER) {
      out.kind = TraceEvent::Kind::kValue;
      out.value = event.counter_value();
      out_.events.push_back(std::move(out));
      return;
    }
    describe(event, sequence, out);
    if (event.type() == TrackEvent::TYPE_SLICE_BEGIN) {
      open.push_back(std::move(out));
      return;
    }
    check(event.type() == TrackEvent::TYPE_INSTANT, "an event of another type");
    out.kind = TraceEvent::Kind::kInstant;
    out_.events.push_back(std::move(out));
  }

  void describe(const TrackEvent& event, const Sequence& sequence, TraceEvent& out) const {
    out.name = find(sequence.names, event.name_iid());
    for (const std::uint64_t id : event.category_iids())
      out.category = find(sequence.categories, id);
    out.flows.assign(event.flow_ids().begin(), event.flow_ids().end());
    out.ending_flows.assign(event.terminating_flow_ids().begin(),
                            event.terminating_flow_ids().end());
    if (event.has_source_location_iid())
      out.arguments.emplace_back("line", find(sequence.sources, event.source_location_iid()));
    for (const perfetto::DebugAnnotation& argument : event.debug_annotations()) {
      out.arguments.emplace_back(find(sequence.arguments, argument.name_iid()),
                                 value_of(argument, sequence));
    }
  }

  TraceEvent::Argument value_of(const perfetto::DebugAnnotation& argument,
                                const Sequence& sequence) const {
    if (argument.has_string_value_iid()) return find(sequence.texts, argument.string_value_iid());
    if (argument.has_double_value()) return argument.double_value();
    if (argument.has_uint_value()) return static_cast<std::int64_t>(argument.uint_value());
    return argument.int_value();
  }

  const std::string& find(const Names& names, std::uint64_t id) const {
    const auto found = names.find(id);
    check(found != names.end(), "a name is missing");
    return found->second;
  }

  const std::string& name_;
  std::map<std::uint32_t, Sequence> sequences_;
  TraceFile out_;
};

}  // namespace

TraceFile read_trace(const std::string& bytes, const std::string& name) {
  return Reader(name).run(bytes);
}

}  // namespace lockstep
