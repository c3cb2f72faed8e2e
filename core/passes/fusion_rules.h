// What may be fused (legality: the kernels can run it) and what should be (cost: it pays).
#pragma once

#include <cstddef>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

// --- Legality. ---

/// May stand in a group: elementwise ops (convert, compare and select included), broadcast, iota,
/// random_bits. Everything else is a boundary, optimization_barrier above all.
bool is_fusible(const Node& node);

/// A scalar constant is written into every group that reads it.
bool is_scalar_constant(const Node& node);

/// Whether operand `i` of a group's member must be memory: what a broadcast repeats and the keys of
/// random_bits have another shape than the group. Scalar constants need none.
bool needs_memory(const Graph& graph, const Node& member, std::size_t i);

/// Whether `producer` can be a member of the group whose result is `root`: all members have the
/// shape of the result.
bool may_join(const Graph& graph, ValueId producer, ValueId root);

// --- Cost. ---

/// Groups larger than this compile slowly and spill registers.
inline constexpr int kMaxGroupNodes = 192;

/// Groups that read from more places than this outrun the hardware's prefetching. A cheap member
/// counts as one.
inline constexpr std::size_t kMaxGroupOperands = 32;

/// A value that several groups use is computed again in each if that takes few flops an element and
/// reads from one place, or from few of the graph's inputs, which are in memory all the time: then
/// nothing is written, and nothing is kept that would not be kept anyway. (Rematerialization; the
/// gradients of layer norms, gelus and optimizers are full of such values.)
inline constexpr double kMaxRecomputedFlops = 6;
inline constexpr std::size_t kMaxRecomputedInputs = 3;

/// Marks what is cheaper to compute again in every group than to read from memory: iotas,
/// broadcasts, and short chains of compares and converts of those. Such a node never forces a group
/// to end, and is materialized only for users outside of groups.
std::vector<bool> find_cheap(const Graph& graph);

}  // namespace lockstep
