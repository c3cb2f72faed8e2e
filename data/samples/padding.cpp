#include "data/samples/padding.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {
namespace {

std::int64_t round_up(std::int64_t length, std::int64_t multiple) {
  return (length + multiple - 1) / multiple * multiple;
}

}  // namespace

void check_padding(const Padding& padding) {
  LS_USER_CHECK(padding.multiple_of >= 1, "pad_to_multiple_of must be at least 1, not {}",
                padding.multiple_of);
  if (padding.mode != PaddingMode::kBucket) return;
  LS_USER_CHECK(padding.max_buckets >= 1, "max_buckets must be at least 1, not {}",
                padding.max_buckets);
  const std::vector<std::int64_t>& buckets = padding.buckets;
  const bool rising =
      std::ranges::adjacent_find(buckets, std::ranges::greater_equal()) == buckets.end();
  LS_USER_CHECK(rising && (buckets.empty() || buckets.front() >= 1),
                "buckets must be positive lengths in ascending order");
}

std::int64_t padded_length(const Padding& padding, std::int64_t longest, std::int64_t maximum) {
  check_padding(padding);
  std::int64_t length = 0;
  switch (padding.mode) {
    case PaddingMode::kMax: length = maximum; break;
    case PaddingMode::kLongest: length = longest; break;
    case PaddingMode::kBucket: {
      LS_CHECK(!padding.buckets.empty(), "padding to buckets before they were chosen");
      const auto bucket = std::ranges::lower_bound(padding.buckets, longest);
      if (bucket == padding.buckets.end()) {
        raise(
            ErrorKind::kData,
            "a sample of length {} does not fit the largest bucket, {}; give a longer one, or auto",
            longest, padding.buckets.back());
      }
      length = *bucket;
      break;
    }
  }
  return round_up(length, padding.multiple_of);
}

std::vector<std::int64_t> bucket_lengths(const Padding& padding) {
  std::vector<std::int64_t> out;
  if (padding.mode != PaddingMode::kBucket) return out;
  for (const std::int64_t bucket : padding.buckets)
    out.push_back(round_up(bucket, padding.multiple_of));
  return out;
}

std::int64_t largest_length(const Padding& padding, std::int64_t maximum) {
  if (padding.mode != PaddingMode::kBucket) return round_up(maximum, padding.multiple_of);
  LS_CHECK(!padding.buckets.empty(), "padding to buckets before they were chosen");
  return round_up(padding.buckets.back(), padding.multiple_of);
}

}  // namespace lockstep
