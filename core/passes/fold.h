// Evaluates nodes that are known at compile time: elementwise ops whose operands are all small
// constants or all scalar constants broadcast to the same shape. Broadcasts of constants stay a
// scalar and a broadcast, and a constant that repeats one element becomes one; nothing large is
// materialized.
//
// Exact IEEE arithmetic of the node's dtype, so that folding changes no bit. Not folded, because
// kernels may round them differently: exp, log, tanh, erf, sin, cos, rsqrt, power; sums over
// dimensions; sign, and maximum or minimum of zeros of different sign, whose result is not
// specified.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

/// Results of more elements than this are not folded.
inline constexpr std::int64_t kMaxFoldedElements = 1024;

Graph fold(Graph graph, const Target& target);

}  // namespace lockstep
