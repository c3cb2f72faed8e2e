// When the gradients of a step are complete, and in which buckets they are all-reduced.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

/// A bucket, and what of the gradient program has run when its last gradient is complete.
struct BucketWork {
  double bytes = 0;
  double heavy_share = 0;    ///< of the FLOPs of dots, convolutions and attention
  double traffic_share = 0;  ///< of the bytes of all else
};

/// In their order. `program`: the gradient program, scheduled, with gradient i as output i;
/// `bucket_of[i]`: its bucket.
std::vector<BucketWork> bucket_work(const Graph& program, std::span<const std::int32_t> bucket_of,
                                    std::span<const double> bucket_bytes);

}  // namespace lockstep
