// The matrix products of linear layers as in training, with lockstep's own kernels.
#pragma once

#include <cstdint>

#include "core/ir/machine_limits.h"
#include "trainer/calibrate/single_kernel.h"

namespace lockstep {

enum class LinearDot : std::uint8_t {
  kForward,         ///< x w
  kInputGradient,   ///< dy w^T
  kWeightGradient,  ///< x^T dy
};

/// The product of a layer with x [rows, in], w [in, out] and dy [rows, out], 2 rows in out FLOPs.
SingleKernel linear_dot(LinearDot dot, DType dtype, std::int64_t rows, std::int64_t in,
                        std::int64_t out, const Target& target, int threads = 1);

/// Fills in the rate of `row`; its other members describe what to measure. The rate is the highest
/// of the three products on x [m,k] and w [k,n], each on warm caches for at least `seconds`, while
/// all ranks do the same.
void measure_dot(DotRate& row, const Target& target, double seconds);

}  // namespace lockstep
