// Where the reduced values of a step lie, and in which buckets they are all-reduced: a part of a
// compiled step. See reduction.h for the summation.
//
// All reduced values of a micro-batch lie in one flat buffer, bucket after bucket.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/hash.h"
#include "core/ir/graph.h"

namespace lockstep {

struct Bucket {
  DType dtype = DType::kF32;
  std::int64_t offset = 0;  ///< bytes into the flat buffer
  std::int64_t count = 0;   ///< elements, padding between values included
  std::vector<std::int32_t> values;
};

/// Of its data, padding included.
inline double bytes_of(const Bucket& bucket) {
  return static_cast<double>(bucket.count) * static_cast<double>(size_of(bucket.dtype));
}

struct BucketOptions {
  std::int64_t bucket_bytes = 25 << 20;
  std::int64_t first_bucket_bytes = 1 << 20;  ///< small, so that communication starts early
  bool overlap = true;  ///< start a bucket during the last micro-batch's call, not after it
};

/// The offset and the bucket of each reduced value; equal on all ranks.
struct ReductionLayout {
  std::vector<std::int64_t> offsets;    ///< per value, bytes; multiples of 64
  std::vector<std::int64_t> sizes;      ///< per value, bytes, without padding
  std::vector<std::int32_t> bucket_of;  ///< per value
  std::vector<Bucket> buckets;
  std::int64_t bytes = 0;
  Hash128 signature;  ///< of all buckets: dtype, offset, count, values
};
/// Values (f32, f64, i64 or i32) keep their order within their dtype; a bucket closes when it
/// reaches its size.
ReductionLayout plan_reduction(std::span<const Type> values, const BucketOptions& options);

/// The bytes that a value of `bytes` takes in the flat buffer: the next multiple of 64.
std::int64_t slot_bytes(std::int64_t bytes);

/// The number of flat buffers that a rank with this many (>= 1) micro-batches needs at once: one
/// for the current micro-batch and one for each subtree that waits for its sibling.
int reduction_buffers(std::int64_t micro_batches);

}  // namespace lockstep
