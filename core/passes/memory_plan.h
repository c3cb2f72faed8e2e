// Memory planning: every value of a scheduled graph gets a slot. Temporaries share one arena by
// liveness; outputs have their own memory or, for updates, take their input's; a value that an
// output overwrites in place lies in the output's memory from the start; large temporaries that die
// before an output is written may lie in its memory, too; reshapes, barriers and contiguous slices
// are views of their operand.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/passes/bundles.h"

namespace lockstep {

enum class SlotKind : std::uint8_t { kInput, kOutput, kArena, kConstant };

/// Bytes [offset, offset + bytes) of input or output `index`, of the arena, or of the constants.
struct Slot {
  SlotKind kind = SlotKind::kArena;
  std::int32_t index = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};

/// Facts about the kernels, which the planner may not include.
struct MemoryQuery {
  std::function<std::int64_t(ValueId)> scratch_bytes;  ///< 0 for views and leaves
  /// (node, result, operand): whether that result may overwrite that operand.
  std::function<bool(ValueId, std::size_t, std::size_t)> may_alias;
  const CommandBundles* bundles = nullptr;  ///< which commands run at once; null: none do
  /// Temporaries of fewer bytes do not move to outputs: that would save nothing noticeable, and the
  /// first write to an output may have to wait.
  std::int64_t min_moved_bytes = std::int64_t{1} << 20;
};

struct LargeValue {
  std::int64_t bytes;
  Type type;
  Origin origin;
};

struct MemoryPlan {
  std::vector<Slot> values;  ///< one per node; inputs lie in kInput, constants in kConstant
  /// The node runs no command: it shares its operand's bytes. (A group_result runs none either: the
  /// command of its group writes it.)
  std::vector<bool> is_view;
  std::vector<Slot> scratch;  ///< one per node, in the arena or an output; bytes 0 for none
  /// For output i: the input whose memory it is written into, or -1 if it has its own.
  std::vector<std::int32_t> donated_inputs;
  /// Outputs whose value lies elsewhere (an input, a part of another value, a repeated output) and
  /// must be copied into their own memory after all other commands.
  std::vector<std::int32_t> copied_outputs;
  std::int64_t arena_bytes = 0;
  std::int64_t constant_bytes = 0;
  std::int64_t peak_bytes = 0;      ///< arena + outputs that have memory of their own
  std::vector<LargeValue> largest;  ///< the ten largest values alive at the peak, largest first
};

/// Error: internal only. All offsets are multiples of 64.
MemoryPlan plan_memory(const Graph& scheduled, const MemoryQuery& query);

}  // namespace lockstep
