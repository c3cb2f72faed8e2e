// What may be fused (legality: the contract of core/ir/group.h) and what should be (cost: fusion
// pays).
#pragma once

#include <cstddef>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

// --- Legality. ---

/// The role of a value in the group that computes it.
enum class FusionKind : std::uint8_t {
  kNone,         ///< not a member of groups; e.g. optimization_barrier
  kElementwise,  ///< also broadcast, iota, random_bits, slice
  kRowReduction,
  kColumnSum,
  kTotal,
  kConcatenation,
};

/// Sums over the last dimensions, and arg reductions over the last, are reductions of rows; sums
/// over the first are sums of columns; a sum over all is a total. A slice is a member if reading it
/// in place pays; a concatenation if its parts have one shape and are computed element by element.
/// Values of f64 are not members.
FusionKind fusion_kind(const Graph& graph, const Node& node);
inline bool is_fusible(const Graph& graph, const Node& node) {
  return fusion_kind(graph, node) != FusionKind::kNone;
}

/// A scalar constant is written into every group that reads it.
bool is_scalar_constant(const Node& node);

/// Whether operand `i` of the member is read from memory in its own shape: the operand of a
/// broadcast or a slice, and the keys of random_bits.
bool reads_other_shape(const Graph& graph, const Node& member, std::size_t i);

/// Whether the broadcast repeats each element of its operand along a row: dims are 0, 1, ..., and
/// the operand has a dimension.
bool is_row_broadcast(const Graph& graph, const Node& broadcast);

// --- Cost. ---

/// Groups larger than this compile slowly and spill registers.
inline constexpr std::size_t kMaxGroupNodes = 192;

/// Groups that read from or write to more places than this exceed the hardware's prefetching.
inline constexpr std::size_t kMaxGroupOperands = 32;
inline constexpr std::size_t kMaxGroupResults = 16;

/// A slice of less than this part (1/n) of its operand is copied: a later reader would keep the
/// whole operand alive. A contiguous slice is not copied, since it is a view.
inline constexpr std::int64_t kMinSlicedPart = 4;
inline constexpr std::size_t kMaxJoinedParts = 4;

/// A value that several groups use is computed again in each if that takes few flops an element (as
/// many as a gelu) and reads from one place, or no more bytes than the value has, or from few of
/// the graph's inputs, which are always in memory: then nothing is written, and no more memory is
/// kept. (Rematerialization; the gradients of layer norms, gelus and optimizers are full of such
/// values.)
inline constexpr double kMaxRecomputedFlops = 24;
inline constexpr std::size_t kMaxRecomputedInputs = 3;

/// Marks values that are cheaper to compute again in every group than to read from memory: iotas,
/// broadcasts, slices, and short chains of compares and converts of those. Such a node never forces
/// a group to end, and is materialized only for users outside of groups.
std::vector<bool> find_cheap(const Graph& graph);

}  // namespace lockstep
