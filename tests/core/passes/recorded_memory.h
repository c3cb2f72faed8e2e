// A memory in which every byte records the value, and the byte of it, that it holds. Bytes in a row
// of one value are recorded as a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep::testing {

/// So many bytes of a value, from byte number `first` on.
struct ValueRun {
  ValueId value = kNoValue;
  std::int64_t first = 0;
  std::int64_t bytes = 0;

  ValueRun from(std::int64_t skipped) const { return {value, first + skipped, bytes - skipped}; }
  bool is_continued_by(const ValueRun& next) const {
    return next.value == value && next.first == first + bytes;
  }
};

class RecordedMemory {
 public:
  void write(std::int64_t offset, const std::vector<ValueRun>& runs) {
    for (const ValueRun& run : runs) {
      erase(offset, offset + run.bytes);
      if (run.bytes > 0) runs_[offset] = run;
      offset += run.bytes;
    }
  }

  /// Whether these bytes are found from the offset on.
  bool holds(std::int64_t offset, const std::vector<ValueRun>& runs) const {
    for (const ValueRun& run : runs) {
      if (!holds(offset, run)) return false;
      offset += run.bytes;
    }
    return true;
  }

 private:
  bool holds(std::int64_t offset, ValueRun wanted) const {
    while (wanted.bytes > 0) {
      auto found = runs_.upper_bound(offset);
      if (found == runs_.begin()) return false;
      const auto& [begin, run] = *--found;
      const ValueRun here = run.from(offset - begin);
      if (here.bytes <= 0 || here.value != wanted.value || here.first != wanted.first) return false;
      const std::int64_t bytes = std::min(here.bytes, wanted.bytes);
      wanted = wanted.from(bytes);
      offset += bytes;
    }
    return true;
  }

  void erase(std::int64_t begin, std::int64_t end) {
    split(begin);
    split(end);
    runs_.erase(runs_.lower_bound(begin), runs_.lower_bound(end));
  }

  /// A run that begins before the offset does not go beyond it afterwards.
  void split(std::int64_t offset) {
    const auto next = runs_.lower_bound(offset);
    if (next == runs_.begin()) return;
    auto& [begin, run] = *std::prev(next);
    const ValueRun rest = run.from(offset - begin);
    if (rest.bytes <= 0) return;
    run.bytes = offset - begin;
    runs_[offset] = rest;
  }

  std::map<std::int64_t, ValueRun> runs_;  ///< by the offset of their first byte
};

}  // namespace lockstep::testing
