// Which values own memory and which are views of another's. Scheduler and memory planner must agree
// on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

/// A reshape is a view of its operand; so is a slice whose elements are contiguous and start at a
/// multiple of 64 bytes in the owner.
struct BufferAliases {
  explicit BufferAliases(const Graph& graph);

  bool is_view(ValueId id) const { return owner[static_cast<std::size_t>(id)] != id; }

  std::vector<ValueId> owner;        ///< per value: the value whose memory it lies in, or itself
  std::vector<std::int64_t> offset;  ///< per value: bytes into the owner's memory
};

/// Whether the value's memory exists before the first command: inputs and constants.
bool is_given(const Node& node);

}  // namespace lockstep
