#include "core/passes/pack_intervals.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>

namespace lockstep {
namespace {

/// The free memory of an arena that grows at its end.
class FreeList {
 public:
  std::int64_t take(std::int64_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    if (best == free_.end()) return grow(bytes);
    const auto [offset, size] = *best;
    free_.erase(best);
    if (size > bytes) free_.emplace(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(std::int64_t offset, std::int64_t bytes) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        previous->second += bytes;
        return;
      }
    }
    free_.emplace(offset, bytes);
  }

  std::int64_t size() const { return size_; }

 private:
  std::int64_t grow(std::int64_t bytes) {
    std::int64_t offset = size_;
    if (!free_.empty()) {
      const auto last = std::prev(free_.end());
      if (last->first + last->second == size_) {
        offset = last->first;
        free_.erase(last);
      }
    }
    size_ = offset + bytes;
    return offset;
  }

  std::map<std::int64_t, std::int64_t> free_;  ///< offset -> bytes, never adjacent
  std::int64_t size_ = 0;
};

std::vector<std::size_t> sorted_by(const std::vector<Lifetime>& blocks, auto key) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].bytes > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(blocks[a]) < key(blocks[b]); });
  return order;
}

ArenaPacking pack_by_time(const std::vector<Lifetime>& blocks) {
  ArenaPacking out{std::vector<std::int64_t>(blocks.size(), 0), 0};
  const auto births = sorted_by(blocks, [](const Lifetime& b) { return b.begin; });
  const auto deaths = sorted_by(blocks, [](const Lifetime& b) { return b.end; });
  FreeList memory;
  std::size_t dead = 0;
  for (const std::size_t i : births) {
    for (; dead < deaths.size() && blocks[deaths[dead]].end < blocks[i].begin; ++dead)
      memory.give_back(out.offsets[deaths[dead]], arena_bytes(blocks[deaths[dead]].bytes));
    out.offsets[i] = memory.take(arena_bytes(blocks[i].bytes));
  }
  out.bytes = memory.size();
  return out;
}

ArenaPacking pack_by_size(const std::vector<Lifetime>& blocks) {
  struct Placed {
    std::int64_t offset, limit;
    std::int32_t begin, end;
  };
  ArenaPacking out{std::vector<std::int64_t>(blocks.size(), 0), 0};
  std::vector<Placed> placed;  // by offset
  placed.reserve(blocks.size());
  for (const std::size_t i : sorted_by(blocks, [](const Lifetime& b) { return -b.bytes; })) {
    const Lifetime& block = blocks[i];
    const std::int64_t bytes = arena_bytes(block.bytes);
    std::int64_t best = -1;
    std::int64_t best_gap = std::numeric_limits<std::int64_t>::max();
    std::int64_t used = 0;  // the end of all placed blocks that are alive with this one
    for (const Placed& other : placed) {
      if (other.end < block.begin || block.end < other.begin) continue;
      const std::int64_t gap = other.offset - used;
      if (gap >= bytes && gap < best_gap) {
        best = used;
        best_gap = gap;
      }
      used = std::max(used, other.limit);
    }
    const std::int64_t offset = best >= 0 ? best : used;
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [](std::int64_t o, const Placed& p) { return o < p.offset; });
    placed.insert(at, {offset, offset + bytes, block.begin, block.end});
    out.offsets[i] = offset;
    out.bytes = std::max(out.bytes, offset + bytes);
  }
  return out;
}

}  // namespace

std::int64_t peak_live_bytes(const std::vector<Lifetime>& blocks, std::int32_t* when) {
  std::map<std::int32_t, std::int64_t> change;
  for (const Lifetime& block : blocks) {
    change[block.begin] += arena_bytes(block.bytes);
    change[block.end + 1] -= arena_bytes(block.bytes);
  }
  std::int64_t live = 0;
  std::int64_t peak = 0;
  if (when != nullptr) *when = 0;
  for (const auto& [step, bytes] : change) {
    live += bytes;
    if (live <= peak) continue;
    peak = live;
    if (when != nullptr) *when = step;
  }
  return peak;
}

ArenaPacking pack_intervals(const std::vector<Lifetime>& blocks) {
  ArenaPacking by_time = pack_by_time(blocks);
  const std::int64_t bound = peak_live_bytes(blocks);
  if (by_time.bytes <= bound + bound / 64) return by_time;  // the other order is quadratic
  ArenaPacking by_size = pack_by_size(blocks);
  return by_size.bytes < by_time.bytes ? by_size : by_time;
}

}  // namespace lockstep
