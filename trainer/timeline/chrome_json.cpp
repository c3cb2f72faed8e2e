#include "trainer/timeline/chrome_json.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <variant>

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

class ChromeWriter {
 public:
  ChromeWriter(const TraceFile& trace, std::ostream& out) : trace_(trace), out_(out) {
    for (const TraceEvent& event : trace.events) origin_ns_ = std::min(origin_ns_, event.begin_ns);
  }

  void run() {
    out_ << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    for (const auto& [id, track] : trace_.tracks) describe(id, track);
    for (const TraceEvent& event : trace_.events) write(event);
    write_flows();
    out_ << "\n]}\n";
  }

 private:
  void put(const OrderedJson& event) {
    out_ << (first_ ? "\n" : ",\n")
         << event.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    first_ = false;
  }

  double us(std::int64_t ns) const { return static_cast<double>(ns - origin_ns_) * 1e-3; }
  const TraceTrack& track_of(const TraceEvent& event) const {
    return trace_.tracks.at(event.track);
  }

  void describe(std::uint64_t id, const TraceTrack& track) {
    if (track.is_counter) return;
    const bool is_process = track.parent == 0;
    put({{"ph", "M"},
         {"name", is_process ? "process_name" : "thread_name"},
         {"pid", track.pid},
         {"tid", id},
         {"args", {{"name", track.name}}}});
  }

  void write(const TraceEvent& event) {
    const TraceTrack& track = track_of(event);
    if (event.kind == TraceEvent::Kind::kValue) {
      put({{"ph", "C"},
           {"name", track.name},
           {"pid", track.pid},
           {"ts", us(event.begin_ns)},
           {"args", {{"value", event.value}}}});
      return;
    }
    const bool is_slice = event.kind == TraceEvent::Kind::kSlice;
    OrderedJson out{{"ph", is_slice ? "X" : "i"}, {"name", event.name}, {"cat", event.category},
                    {"pid", track.pid},           {"tid", event.track}, {"ts", us(event.begin_ns)}};
    if (is_slice)
      out["dur"] = static_cast<double>(event.end_ns - event.begin_ns) * 1e-3;
    else
      out["s"] = "p";
    for (const auto& [name, argument] : event.arguments)
      std::visit([&](const auto& value) { out["args"][name] = value; }, argument);
    put(out);
    for (const std::uint64_t flow : event.flows) flows_[flow].push_back(&event);
    for (const std::uint64_t flow : event.ending_flows) flows_[flow].push_back(&event);
  }

  void write_flows() {
    for (auto& [id, events] : flows_) {
      std::ranges::sort(events, {}, [](const TraceEvent* event) { return event->begin_ns; });
      for (std::size_t i = 0; i < events.size(); ++i) {
        const TraceEvent& event = *events[i];
        OrderedJson out{{"ph", i == 0                  ? "s"
                               : i + 1 < events.size() ? "t"
                                                       : "f"},
                        {"name", "step"},
                        {"cat", "flow"},
                        {"id", id},
                        {"pid", track_of(event).pid},
                        {"tid", event.track},
                        {"ts", us(event.begin_ns)}};
        if (i + 1 == events.size()) out["bp"] = "e";
        put(out);
      }
    }
  }

  const TraceFile& trace_;
  std::ostream& out_;
  std::int64_t origin_ns_ = std::numeric_limits<std::int64_t>::max();
  bool first_ = true;
  std::map<std::uint64_t, std::vector<const TraceEvent*>> flows_;
};

}  // namespace

void write_chrome_json(const TraceFile& trace, std::ostream& out) {
  ChromeWriter(trace, out).run();
}

}  // namespace lockstep
