// How a buffer is divided between ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lockstep {

/// Elements [begin, end).
struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// The slice of `count` elements of `element_bytes` each that belongs to `index` out of `parts`.
/// Slices are in order, cover everything, and begin at multiples of 64 bytes, so that no two ranks
/// write to one cache line; the last ones may be empty.
inline Slice slice_of(std::int64_t count, int parts, int index, std::size_t element_bytes) {
  const auto line = static_cast<std::int64_t>(64 / element_bytes);
  const std::int64_t even = (count + parts - 1) / parts;
  const std::int64_t length = (even + line - 1) / line * line;
  return {std::min(count, index * length), std::min(count, (index + 1) * length)};
}

}  // namespace lockstep
