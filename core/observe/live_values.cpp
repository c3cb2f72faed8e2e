#include "core/observe/live_values.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {
namespace {

using Place = std::pair<Area, std::int32_t>;
using Range = std::pair<std::int64_t, std::int64_t>;  ///< bytes [first, second)

Range range_of(const BufferSlice& slice) {
  return {slice.offset, slice.offset + slice.bytes};
}

bool overlap(const BufferSlice& a, const BufferSlice& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

/// The number of bytes in any of the ranges.
std::int64_t union_bytes(std::vector<Range> ranges) {
  std::ranges::sort(ranges);
  std::int64_t out = 0;
  std::int64_t end = 0;
  for (const Range& range : ranges) {
    out += std::max<std::int64_t>(range.second - std::max(range.first, end), 0);
    end = std::max(end, range.second);
  }
  return out;
}

class Lives {
 public:
  explicit Lives(const Plan& plan) : plan_(plan) {}

  LiveMemory run() {
    for (std::size_t begin = 0; begin < plan_.commands.size();) {
      const std::size_t end = next_bundle(plan_, begin);
      add_bundle(static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end));
      begin = end;
    }
    end_outputs();
    count();
    return std::move(out_);
  }

 private:
  bool counts(const BufferSlice& slice) const {
    if (slice.bytes == 0) return false;
    if (slice.area == Area::kArena) return true;
    return slice.area == Area::kOutput &&
           plan_.donated_inputs[static_cast<std::size_t>(slice.index)] < 0;
  }
  std::vector<std::size_t>& open_in(const BufferSlice& slice) {
    return open_[{slice.area, slice.index}];
  }
  const Command& command(std::int32_t index) const {
    return plan_.commands[static_cast<std::size_t>(index)];
  }

  /// All commands of a bundle read before what they write replaces older values: none of them
  /// writes what another one reads.
  void add_bundle(std::int32_t begin, std::int32_t end) {
    for (std::int32_t c = begin; c < end; ++c)
      for (const BufferSlice& slice : command(c).operands)
        if (counts(slice))
          for (const std::size_t value : open_in(slice))
            if (overlap(out_.values[value].slice, slice)) out_.values[value].last = end - 1;
    for (std::int32_t c = begin; c < end; ++c) {
      add({c, -1, command(c).scratch, begin, end - 1});
      for (std::size_t r = 0; r < command(c).results.size(); ++r)
        add({c, static_cast<std::int32_t>(r), command(c).results[r], begin, end - 1});
    }
  }

  void add(const LiveValue& value) {
    if (!counts(value.slice)) return;
    std::vector<std::size_t>& open = open_in(value.slice);
    std::erase_if(
        open, [&](std::size_t other) { return overlap(out_.values[other].slice, value.slice); });
    if (value.result >= 0) open.push_back(out_.values.size());
    out_.values.push_back(value);
  }

  /// What was not overwritten in an output's memory is the output.
  void end_outputs() {
    for (const auto& [place, open] : open_)
      for (const std::size_t value : open)
        if (place.first == Area::kOutput)
          out_.values[value].last = static_cast<std::int32_t>(plan_.commands.size()) - 1;
  }

  void count() {
    std::vector<std::vector<std::size_t>> begins(plan_.commands.size());
    for (std::size_t v = 0; v < out_.values.size(); ++v)
      begins[static_cast<std::size_t>(out_.values[v].first)].push_back(v);
    std::vector<std::size_t> live;
    for (std::size_t c = 0; c < plan_.commands.size(); ++c) {
      std::erase_if(
          live, [&](std::size_t v) { return out_.values[v].last < static_cast<std::int32_t>(c); });
      live.insert(live.end(), begins[c].begin(), begins[c].end());
      std::map<Place, std::vector<Range>> ranges;
      for (const std::size_t v : live) {
        const BufferSlice& slice = out_.values[v].slice;
        ranges[{slice.area, slice.index}].push_back(range_of(slice));
      }
      std::int64_t bytes = 0;
      for (const auto& [place, of_place] : ranges) bytes += union_bytes(of_place);
      out_.bytes.push_back(bytes);
    }
    std::vector<Range> values;
    std::vector<Range> all;
    for (const LiveValue& value : out_.values) {
      if (value.slice.area != Area::kArena) continue;
      all.push_back(range_of(value.slice));
      if (value.result >= 0) values.push_back(range_of(value.slice));
    }
    out_.scratch_in_arena = union_bytes(std::move(all)) - union_bytes(std::move(values));
  }

  const Plan& plan_;
  LiveMemory out_;
  std::map<Place, std::vector<std::size_t>> open_;  ///< values that later commands may read
};

}  // namespace

LiveMemory live_memory(const Plan& plan) {
  return Lives(plan).run();
}

}  // namespace lockstep
