// The fastest way this machine multiplies matrices of a shape.
#pragma once

#include <string>

#include "bench/limits/step_dots.h"

namespace lockstep {

struct Timing {
  double seconds = 0;
  std::string implementation;
};

/// Minimum time of one dot over oneDNN's matmul primitive and sgemm and lockstep's product by
/// tiles, for row- and column-major operands and for the product and its transpose; on warm caches,
/// while `threads` threads do the same.
Timing best_product(const DotShape& shape, int threads, double seconds_each);

/// Minimum time of a convolution node over oneDNN's primitive, with weights in the layout it
/// prefers, and lockstep's kernel, which makes that layout itself; while `threads` threads do the
/// same.
Timing best_convolution(const DotNode& node, int threads, double seconds_each);

/// The time of the node on lockstep's own kernel.
Timing own_kernel(const DotNode& node, int threads, double seconds);

}  // namespace lockstep
