// What may be fused (legality: the contract of core/ir/group.h) and what should be (cost: it pays).
#pragma once

#include <cstddef>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

// --- Legality. ---

/// What a value is to the group that computes it.
enum class FusionKind : std::uint8_t {
  kNone,         ///< no member of groups; optimization_barrier above all
  kElementwise,  ///< also broadcast, iota, random_bits, slice
  kRowReduction,
  kColumnSum,
  kTotal,
  kConcatenation,
};

/// Sums over the last dimensions and all arg reductions over the last are reductions of rows, sums
/// over the first are sums of columns, over all a total. A slice is a member if it is worth reading
/// where it lies, a concatenation if its parts are of one shape, and computed element by element.
/// Nothing of f64 is a member.
FusionKind fusion_kind(const Graph& graph, const Node& node);
inline bool is_fusible(const Graph& graph, const Node& node) {
  return fusion_kind(graph, node) != FusionKind::kNone;
}

/// A scalar constant is written into every group that reads it.
bool is_scalar_constant(const Node& node);

/// Whether operand `i` of the member is read as it lies in memory, in a shape of its own: what a
/// broadcast repeats, what a slice is of, and the keys of random_bits.
bool reads_other_shape(const Graph& graph, const Node& member, std::size_t i);

/// Whether the broadcast repeats each element of its operand along a row: dims are 0, 1, ..., and
/// the operand has a dimension.
bool is_row_broadcast(const Graph& graph, const Node& broadcast);

// --- Cost. ---

/// Groups larger than this compile slowly and spill registers.
inline constexpr std::size_t kMaxGroupNodes = 192;

/// Groups that read from or write to more places than this outrun the hardware's prefetching.
inline constexpr std::size_t kMaxGroupOperands = 32;
inline constexpr std::size_t kMaxGroupResults = 16;

/// A slice of less than this part of its operand is copied: who reads it later would keep all of
/// the operand. So is none that lies together, which is a view anyway.
inline constexpr std::int64_t kLeastSlicedPart = 4;
inline constexpr std::size_t kMaxJoinedParts = 4;

/// A value that several groups use is computed again in each if that takes few flops an element (a
/// gelu's) and reads from one place, or no more bytes than the value has, or from few of the
/// graph's inputs, which are in memory all the time: then nothing is written, and no more is kept.
/// (Rematerialization; the gradients of layer norms, gelus and optimizers are full of such values.)
inline constexpr double kMaxRecomputedFlops = 24;
inline constexpr std::size_t kMaxRecomputedInputs = 3;

/// Marks what is cheaper to compute again in every group than to read from memory: iotas,
/// broadcasts, slices, and short chains of compares and converts of those. Such a node never forces
/// a group to end, and is materialized only for users outside of groups.
std::vector<bool> find_cheap(const Graph& graph);

}  // namespace lockstep
