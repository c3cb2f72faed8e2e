// Which values of a plan lie in memory while each of its commands runs: its activations and their
// temporaries.
//
// What counts is the memory of the arena and of outputs that do not overwrite an input: the rest
// lives through the step whatever the program does. A value lives from the bundle that writes it to
// the last bundle that reads it or a part of it, also through a view; an output to the end of the
// program. Where a command overwrites an operand in place, both are the same bytes, counted once.
// Scratch memory lives while its command's bundle runs. Lifetimes follow from the slices of
// operands and results alone, so that they hold for plans from the disk, too. Gaps that the memory
// planner could not fill are not live: the sum at the peak is at most Plan::peak_bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/runtime/plan.h"

namespace lockstep {

struct LiveValue {
  std::int32_t command = 0;  ///< that writes it
  std::int32_t result = 0;   ///< which of its results; -1: its scratch memory
  BufferSlice slice;
  std::int32_t first = 0;  ///< command of its life
  std::int32_t last = 0;   ///< the same
};

struct LiveMemory {
  std::vector<LiveValue> values;      ///< by `first`
  std::vector<std::int64_t> bytes;    ///< live while each command runs
  std::int64_t scratch_in_arena = 0;  ///< bytes of the arena that only scratch memory takes
};

LiveMemory live_memory(const Plan& plan);

}  // namespace lockstep
