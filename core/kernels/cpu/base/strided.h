// Dense arrays seen through strides: a view gives every dimension a stride in the array, zero where
// the array repeats. Broadcasts, slices and transposes read through views, pads and concatenations
// write through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/array_ref.h"
#include "core/base/dtype.h"

namespace lockstep {

/// Dimensions, outermost first, merged where the strides allow it and without those of size 1.
struct StridedView {
  struct Dim {
    std::int64_t size;
    std::int64_t stride;  ///< in elements of the operand
  };
  std::vector<Dim> dims;

  StridedView() = default;
  StridedView(ArrayRef<std::int64_t> sizes, ArrayRef<std::int64_t> strides);

  bool is_single() const;      ///< one operand element for all of the result
  bool is_contiguous() const;  ///< element i of the result is element i of the operand
};

/// out[i] = element start + i of the view of `base`, for elements of `bytes` bytes.
void load_view(const StridedView& view, const std::byte* base, std::size_t bytes,
               std::int64_t start, std::int64_t count, std::byte* out);

/// The inverse: element start + i of the view of `base` = in[i]; no stride is zero.
void store_view(const StridedView& view, const std::byte* in, std::size_t bytes, std::int64_t start,
                std::int64_t count, std::byte* base);

/// out[i] = the element of `bytes` bytes at `value`.
void fill_value(const std::byte* value, std::size_t bytes, std::int64_t count, std::byte* out);

/// Movement depends only on the size of elements: calls f with an unsigned integer of `bytes` bytes
/// (1, 2, 4 or 8).
template <class F>
auto visit_bytes(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
  }
}

}  // namespace lockstep
