// What multiplies a convolution's result channel by channel goes into its weights: of a batch
// normalization with running statistics, which evaluations have behind each convolution, one
// addition is left.
//
//   (convolution(x, w) - mean) * factor + bias
//     -> convolution(x, w * factor) + (bias - mean * factor)
//
// Only where nobody else sees the result or what is made of it on the way, as the statistics and
// the gradients of a training step do. A conversion right behind the convolution may stand between.
//
// That is exact for real numbers. Let u be the unit roundoff, n the terms of one of the
// convolution's sums, X the sum of their magnitudes, k the steps behind it, s the product of the
// factors, and T the sum of |what is added|, each times the |factors| behind it. Computed as before
// or as after, the result is within gamma(n + k + 1) (|s| X + T) of the exact one, where gamma(n) =
// n u / (1 - n u). Subtracting the mean after the multiplication loses no digit that was there: y -
// mean was off by what y is off by, gamma(n) X, and the factor scaled that, too. Weights that are
// converted to bf16 are multiplied before that, and so rounded once, as ever: by at most 2^-8 |s|
// X, as a result in bf16 is. Weights that come in bf16 would be rounded twice, and f16 could
// overflow: both are left. A zero may change its sign, and a sum that overflowed before a factor
// made it small no longer does.
//
// No bytes are saved, since the group that reads the result multiplied it on the way: two
// operations on each element are, for one pass over the weights. So it has to pay.
#pragma once

#include <cstdint>

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

/// How many times the elements of its weights a convolution's result must have. To multiply a
/// weight moves 8 bytes, 0.1 ns of one core, and an element of the result is 0.01 ns faster (0.02
/// in bf16): measured on AVX-512.
inline constexpr std::int64_t kLeastResultsPerWeight = 16;

Graph absorb_scales(Graph graph, const Target& target);

}  // namespace lockstep
