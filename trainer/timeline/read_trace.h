// Reads the events of a trace file in Perfetto's format, as encode_timeline writes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep {

struct TraceTrack {
  std::string name;
  std::string process;
  std::int32_t pid = 0;
  std::uint64_t parent = 0;
  bool is_counter = false;
};

/// A slice, an instant (begin_ns is end_ns, is_instant) or the value of a counter.
struct TraceEvent {
  using Argument = std::variant<std::int64_t, double, std::string>;
  enum class Kind : std::uint8_t { kSlice, kInstant, kValue };
  Kind kind = Kind::kSlice;
  std::uint64_t track = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t value = 0;  ///< of a counter
  int depth = 0;           ///< number of slices of its track that enclose it
  std::string name;
  std::string category;
  std::vector<std::uint64_t> flows;
  std::vector<std::uint64_t> ending_flows;
  std::vector<std::pair<std::string, Argument>> arguments;
};

struct TraceFile {
  std::map<std::uint64_t, TraceTrack> tracks;
  std::vector<TraceEvent> events;  ///< those of each rank ordered by end
};

/// Messages call the bytes `name`. Error kData if they are not such a trace.
TraceFile read_trace(const std::string& bytes, const std::string& name);

}  // namespace lockstep
