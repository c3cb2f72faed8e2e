// The memory of outputs before they are written, as a place for blocks that would be alive at the
// peak of the arena.
#pragma once

#include <cstdint>
#include <vector>

#include "core/passes/pack_intervals.h"

namespace lockstep {

/// Where a block lies: in the memory of an output, or in the arena.
struct OutputPlace {
  std::int32_t output = -1;  ///< -1: in the arena
  std::int64_t offset = 0;   ///< bytes into the output, a multiple of kArenaAlignment
};

class UnwrittenOutputs {
 public:
  /// An output of its own `bytes` that is written at step `written` first.
  void add(std::int32_t output, std::int64_t bytes, std::int32_t written);
  /// It is written at that step already.
  void is_written_at(std::int32_t output, std::int32_t step);

  /// Moves blocks of at least `min_bytes` (> 0) that are alive at the peak of all, as long as that
  /// lowers it; those born latest first, as the first write to an output may have to wait for a
  /// reader of what it held before.
  std::vector<OutputPlace> take_from_peak(const std::vector<Lifetime>& blocks,
                                          std::int64_t min_bytes);

 private:
  struct Placed {
    std::int64_t begin, end;  ///< bytes
    Lifetime lifetime;
  };
  struct Output {
    std::int32_t number;
    std::int64_t bytes;
    std::int32_t written;
    std::vector<Placed> placed;  ///< by offset
  };
  static std::int64_t find_gap(const Output& output, const Lifetime& block);
  OutputPlace place(const Lifetime& block);

  std::vector<Output> outputs_;
};

}  // namespace lockstep
