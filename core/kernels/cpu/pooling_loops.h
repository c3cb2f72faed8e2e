// Loops of pooling over images [H,W,C], a row at a time, as a table per instruction set. Vectors
// hold channels of one place. Arithmetic is f32, in one order, and rounded once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/ir/target.h"

namespace lockstep {

/// Windows along one dimension of an image. Always inlined, see element.h.
struct PoolAxis {
  struct Range {
    std::int64_t begin;
    std::int64_t end;
  };
  std::int64_t size;     ///< of the image
  std::int64_t windows;  ///< their number
  std::int64_t window;   ///< the size of one
  std::int64_t stride;
  std::int64_t padding;  ///< before the image

  /// The place where a window begins; negative in the padding.
  [[gnu::always_inline]] std::int64_t first(std::int64_t index) const {
    return index * stride - padding;
  }
  /// The places of the image that a window covers.
  [[gnu::always_inline]] Range seen_by(std::int64_t index) const {
    return {std::max<std::int64_t>(first(index), 0), std::min(first(index) + window, size)};
  }
  /// The maximum number of windows that cover one place.
  [[gnu::always_inline]] std::int64_t overlap() const {
    return std::min((window - 1) / stride + 1, windows);
  }
  /// Advances from the windows that cover an earlier place to those that cover this one.
  [[gnu::always_inline]] void advance(Range& seeing, std::int64_t place) const {
    while (seeing.end < windows && first(seeing.end) <= place) ++seeing.end;
    while (seeing.begin < seeing.end && first(seeing.begin) + window <= place) ++seeing.begin;
  }
};

struct PoolShape {
  PoolAxis rows;
  PoolAxis columns;
  std::int64_t channels;

  std::int64_t window() const { return rows.window * columns.window; }
  std::int64_t x_row() const { return columns.size * channels; }
  std::int64_t y_row() const { return columns.windows * channels; }
};

/// The data for the gradient of an image's row.
struct SeeingRows {
  PoolAxis::Range range;  ///< the rows of windows that cover it
  const std::byte* dy;    ///< the image's gradients [OH,OW,C]
  /// The results for the last `slots` rows of windows [OW,C]; that of row i is at i % slots.
  const std::byte* ring;
  std::int64_t slots;
};

struct PoolingLoops {
  /// out = row `row` of windows [OW,C] of an image x, or dy for shares().
  using WindowRow = void (*)(DType dtype, const PoolShape& shape, const std::byte* image,
                             std::int64_t row, std::byte* out);
  WindowRow max;
  WindowRow average;
  /// i32: the index of each maximum in its window, in row-major order and with padding; the first
  /// of equals or of NaN. -1 if the window is all padding.
  WindowRow winners;
  /// f32: the part of dy that each element of a window gets.
  WindowRow shares;

  /// dx = row `row` [W,C] of an image's gradient: the sum over windows in row-major order. Their
  /// ring is of winners(), or of shares() and without dy.
  using ImageRow = void (*)(DType dtype, const PoolShape& shape, const SeeingRows& windows,
                            std::int64_t row, std::byte* dx);
  ImageRow max_grad;
  ImageRow average_grad;
};

extern const PoolingLoops kPoolingAvx2;
extern const PoolingLoops kPoolingAvx512;

inline const PoolingLoops& pooling_loops(Isa isa) {
  return isa == Isa::kAvx512 ? kPoolingAvx512 : kPoolingAvx2;
}

}  // namespace lockstep
