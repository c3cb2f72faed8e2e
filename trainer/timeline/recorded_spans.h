// The recording of some steps on a rank: a plain copy of its spans and levels, with the programs
// whose commands are among them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/spans.h"

namespace lockstep {

struct CompiledStep;

/// Training steps first, ..., last, numbered as in spans: the first step of a run is 0.
struct StepWindow {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool contains(std::int64_t step) const { return first <= step && step <= last; }
};

struct RecordedSpan {
  SpanKind kind = SpanKind::kTrace;
  std::uint32_t name = 0;  ///< in RecordedSpans::names; 0 is ""
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t step = -1;
  std::uint64_t correlation = 0;
  std::uint64_t thread = 0;
  SpanArgs args = {};
};

struct RecordedSpans {
  std::vector<RecordedSpan> spans;  ///< those of each thread ordered by end
  std::vector<Level> levels;
  std::vector<std::string> names = {""};
  std::map<std::int64_t, std::shared_ptr<const CompiledStep>> programs;
  std::int64_t dropped = 0;  ///< number of spans and levels beyond the limit
};

}  // namespace lockstep
