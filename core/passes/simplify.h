// Algebra that is exact in IEEE arithmetic, for every value including -0, infinities and NaN (up to
// a NaN's sign and payload), and data movement (movement_rules.h).
//
//   x * 1, x / 1, x - 0, x + (-0); integers also x + 0, x * 0, x | 0, x ^ 0, x & -1, shifts by 0
//   x / c -> x * (1/c) for c a power of two with a normal reciprocal
//   maximum(x, x), minimum(x, x), and(x, x), or(x, x)
//   negate(negate x), not(not x), abs(abs x), abs(negate x) of signed numbers
//   select(constant, a, b), select(p, a, a), select(not p, a, b)
//   bool: x and true, x or false
//   convert(convert x) where the first conversion keeps every value (bf16 -> f32 -> bf16, ...)
//
// Not done, because not exact: x + 0 (-0 + 0 is 0), x - (-0), x * 0 (NaN, inf, -0), x - x, x / x,
// 0 / x, x * c / c, sums in another order, a * b + a * c, sqrt(x) * sqrt(x), x == x for floats,
// conversions through a narrower type.
//
// Kernels flush denormals to zero, so an x * 1 that was removed no longer flushes x: the value is
// then more exact, and the same on every rank.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

Graph simplify(Graph graph, const Target& target);

}  // namespace lockstep
