// Moves factors that multiply a convolution's result channel by channel into its weights. Of a
// batch normalization with running statistics, which follows each convolution in evaluations, one
// addition is left.
//
//   (convolution(x, w) - mean) * factor + bias
//     -> convolution(x, w * factor) + (bias - mean * factor)
//
// Only if no other node reads the convolution's result or a value between (in a training step,
// statistics and gradients do). A conversion right after the convolution is allowed.
//
// This is exact for real numbers. Let u be the unit roundoff, n the terms of one of the
// convolution's sums, X the sum of their magnitudes, k the operations after it, s the product of
// the factors, and T the sum of the |addends|, each times the |factors| after it. Before and after
// the pass, the result is within gamma(n + k + 1) (|s| X + T) of the exact one, where gamma(n) = n
// u / (1 - n u). Subtracting the mean after the multiplication loses no precision: the error of y -
// mean was that of y, gamma(n) X, and the factor scaled it, too. Weights that are converted to bf16
// are multiplied before the conversion, and so rounded once, as without the pass: the error is at
// most 2^-8 |s| X, as for a result in bf16. Weights that are given in bf16 would be rounded twice,
// and f16 could overflow: both are left unchanged. A zero may change its sign, and a sum that
// overflowed before a small factor no longer does.
//
// The pass saves no bytes, since the group that reads the result did the multiplication. It saves
// two operations on each element, and costs one pass over the weights. So it is done only if it
// pays.
#pragma once

#include <cstdint>

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

/// The minimum ratio of the elements of a convolution's result to those of its weights. Multiplying
/// a weight moves 8 bytes, 0.1 ns of one core; an element of the result becomes 0.01 ns faster
/// (0.02 in bf16). Measured on AVX-512.
inline constexpr std::int64_t kMinResultsPerWeight = 16;

Graph absorb_scales(Graph graph, const Target& target);

}  // namespace lockstep
