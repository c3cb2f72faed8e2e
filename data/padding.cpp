#include "data/padding.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {

std::vector<std::int64_t> auto_buckets(std::int64_t max_length) {
  std::vector<std::int64_t> out;
  for (std::int64_t length = 32; length < max_length; length *= 2) out.push_back(length);
  out.push_back(max_length);
  return out;
}

void check_padding(const Padding& padding) {
  LS_USER_CHECK(padding.multiple_of >= 1, "pad_to_multiple_of must be at least 1, not {}",
                padding.multiple_of);
  if (padding.mode != PaddingMode::kBucket) return;
  LS_USER_CHECK(!padding.buckets.empty() && padding.buckets.front() >= 1 &&
                    std::ranges::is_sorted(padding.buckets),
                "padding: bucket needs a list of positive buckets in ascending order");
}

std::int64_t padded_length(const Padding& padding, std::int64_t longest, std::int64_t maximum) {
  check_padding(padding);
  std::int64_t length = 0;
  switch (padding.mode) {
    case PaddingMode::kMax: length = maximum; break;
    case PaddingMode::kLongest: length = longest; break;
    case PaddingMode::kBucket: {
      const auto bucket = std::ranges::lower_bound(padding.buckets, longest);
      if (bucket == padding.buckets.end()) {
        raise(ErrorKind::kData, "a sample of length {} does not fit the largest bucket, {}",
              longest, padding.buckets.back());
      }
      length = *bucket;
      break;
    }
  }
  return (length + padding.multiple_of - 1) / padding.multiple_of * padding.multiple_of;
}

}  // namespace lockstep
