#include "core/runtime/reduction_layout.h"

#include <array>
#include <bit>
#include <cstddef>

namespace lockstep {

ReductionLayout plan_reduction(std::span<const Type> values, const BucketOptions& options) {
  ReductionLayout out;
  for (const Type& value : values) out.sizes.push_back(static_cast<std::int64_t>(value.bytes()));
  out.offsets.resize(values.size());
  out.bucket_of.resize(values.size());
  constexpr std::array kSummable = {DType::kF32, DType::kF64, DType::kI64, DType::kI32};
  Hasher hasher;
  for (const DType dtype : kSummable) {
    bool open = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].dtype != dtype) continue;
      if (!open) out.buckets.push_back({dtype, out.bytes, 0, {}});
      open = true;
      Bucket& bucket = out.buckets.back();
      out.offsets[i] = out.bytes;
      out.bucket_of[i] = static_cast<std::int32_t>(out.buckets.size()) - 1;
      bucket.values.push_back(static_cast<std::int32_t>(i));
      out.bytes += slot_bytes(out.sizes[i]);
      const std::int64_t filled = out.bytes - bucket.offset;
      bucket.count = filled / static_cast<std::int64_t>(size_of(dtype));
      const bool first = out.buckets.size() == 1;
      open = filled < (first ? options.first_bucket_bytes : options.bucket_bytes);
    }
  }
  for (const Bucket& bucket : out.buckets) {
    hasher.value(bucket.dtype);
    hasher.value(bucket.offset);
    hasher.value(bucket.count);
    for (const std::int32_t value : bucket.values) hasher.value(value);
  }
  out.signature = hasher.finish();
  return out;
}

std::int64_t slot_bytes(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 64;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

int reduction_buffers(std::int64_t micro_batches) {
  // Before the last micro-batch k = micro_batches - 1 are summed, in as many subtrees as k has
  // bits; the most bits of any number up to that are floor(log2(micro_batches)).
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(micro_batches)));
}

}  // namespace lockstep
