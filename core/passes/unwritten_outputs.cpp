#include "core/passes/unwritten_outputs.h"

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

/// The bytes alive at each step.
class LiveBytes {
 public:
  explicit LiveBytes(const std::vector<Lifetime>& blocks) {
    for (const Lifetime& block : blocks)
      bytes_.resize(std::max(bytes_.size(), static_cast<std::size_t>(block.end) + 1));
    for (const Lifetime& block : blocks) add(block, arena_bytes(block.bytes));
  }
  void remove(const Lifetime& block) { add(block, -arena_bytes(block.bytes)); }
  std::int32_t peak() const {
    return static_cast<std::int32_t>(std::ranges::max_element(bytes_) - bytes_.begin());
  }

 private:
  void add(const Lifetime& block, std::int64_t bytes) {
    for (auto step = static_cast<std::size_t>(block.begin);
         step <= static_cast<std::size_t>(block.end); ++step)
      bytes_[step] += bytes;
  }
  std::vector<std::int64_t> bytes_;
};

}  // namespace

void UnwrittenOutputs::add(std::int32_t output, std::int64_t bytes, std::int32_t written) {
  outputs_.push_back({output, bytes, written, {}});
}

void UnwrittenOutputs::is_written_at(std::int32_t output, std::int32_t step) {
  for (Output& out : outputs_)
    if (out.number == output) out.written = std::min(out.written, step);
}

std::vector<OutputPlace> UnwrittenOutputs::take_from_peak(const std::vector<Lifetime>& blocks,
                                                          std::int64_t min_bytes) {
  std::vector<OutputPlace> out(blocks.size());
  // The output whose first write comes soonest after a block's end is the one to take.
  std::ranges::stable_sort(outputs_, {}, &Output::written);
  std::erase_if(outputs_, [&](const Output& o) { return o.bytes < min_bytes; });
  std::vector<std::size_t> left(blocks.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  std::erase_if(left, [&](std::size_t b) { return blocks[b].bytes < min_bytes; });
  std::ranges::stable_sort(
      left, [&](std::size_t a, std::size_t b) { return blocks[a].begin > blocks[b].begin; });
  LiveBytes live(blocks);
  for (bool found = true; found;) {
    const std::int32_t peak = live.peak();
    found = false;
    for (auto it = left.begin(); it != left.end() && !found;) {
      const Lifetime& block = blocks[*it];
      if (block.begin > peak || block.end < peak) {
        ++it;
        continue;
      }
      out[*it] = place(block);
      found = out[*it].output >= 0;
      if (found) live.remove(block);
      it = left.erase(it);  // without a place now, without one later
    }
  }
  return out;
}

OutputPlace UnwrittenOutputs::place(const Lifetime& block) {
  for (Output& output : outputs_) {
    if (output.written <= block.end) continue;
    const std::int64_t offset = find_gap(output, block);
    if (offset < 0) continue;
    const Placed placed{offset, offset + arena_bytes(block.bytes), block};
    output.placed.insert(std::ranges::upper_bound(output.placed, offset, {}, &Placed::begin),
                         placed);
    return {output.number, offset};
  }
  return {};
}

/// The first offset where the block overlaps none that is alive with it, or -1.
std::int64_t UnwrittenOutputs::find_gap(const Output& output, const Lifetime& block) {
  std::int64_t at = 0;
  for (const Placed& other : output.placed) {
    if (other.lifetime.end < block.begin || block.end < other.lifetime.begin) continue;
    if (other.begin - at >= arena_bytes(block.bytes)) break;
    at = std::max(at, other.end);
  }
  return at + arena_bytes(block.bytes) <= output.bytes ? at : -1;
}

}  // namespace lockstep
