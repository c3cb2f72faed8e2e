// Offsets in one arena for blocks that are alive during known intervals of time: blocks that are
// alive together do not overlap. Optimal packing is NP-hard; two greedy orders are tried.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

/// A block of memory in use from step `begin` to step `end`, both included.
struct Lifetime {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int64_t bytes = 0;
};

struct ArenaPacking {
  std::vector<std::int64_t> offsets;  ///< one per block, multiples of kArenaAlignment
  std::int64_t bytes = 0;             ///< of the arena
};
inline constexpr std::int64_t kArenaAlignment = 64;
/// The next multiple of kArenaAlignment.
constexpr std::int64_t arena_bytes(std::int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// The maximum of bytes alive at one step, every block rounded up to the alignment: a lower bound
/// of every packing. `when`, if not null, receives the first such step.
std::int64_t peak_live_bytes(const std::vector<Lifetime>& blocks, std::int32_t* when = nullptr);

/// The better of two packings: best fit in order of time, like an allocator at run time; and, if
/// that is noticeably above the lower bound, best fit in order of size, largest first.
ArenaPacking pack_intervals(const std::vector<Lifetime>& blocks);

}  // namespace lockstep
