// Loops of products and attention that have few rows on one side, such as those of a model that
// generates one token at a time: every element of the other side is used once or a few times, so
// that the speed of memory dominates. They read it in order and fetch ahead. Sums are f32, in one
// order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/ir/target.h"

namespace lockstep {

struct FewRowsLoops {
  /// Whether w may be of this dtype; x and sums are f32.
  static bool can_read(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16; }

  /// x [rows, depth] times a matrix whose rows are `stride` elements apart: sums[i * sums_row + j]
  /// = sum over k of x[i][k] w[k * stride + j], j < columns.
  void (*product)(DType dtype, std::int64_t rows, std::int64_t depth, std::int64_t columns,
                  const float* x, const std::byte* w, std::int64_t stride, float* sums,
                  std::int64_t sums_row);
  /// The same with a transposed matrix: sum over k of x[i][k] w[j * stride + k].
  void (*transposed_product)(DType dtype, std::int64_t rows, std::int64_t depth,
                             std::int64_t columns, const float* x, const std::byte* w,
                             std::int64_t stride, float* sums, std::int64_t sums_row);
  /// One query of each of several heads, q [heads, depth], with `count` keys `stride` elements
  /// apart, in which the heads are contiguous: scores[h * score_row + j].
  void (*scores)(DType dtype, std::int64_t heads, std::int64_t depth, std::int64_t count,
                 const float* q, const std::byte* keys, std::int64_t stride, float* scores,
                 std::int64_t score_row);
  /// out [heads, depth] = sum over j of weights[h * score_row + j] values[j]. Values whose weight
  /// is 0 are not read.
  void (*mix)(DType dtype, std::int64_t heads, std::int64_t depth, std::int64_t count,
              const float* weights, std::int64_t score_row, const std::byte* values,
              std::int64_t stride, float* out);
};

extern const FewRowsLoops kFewRowsAvx2;
extern const FewRowsLoops kFewRowsAvx512;

inline const FewRowsLoops& few_rows_loops(Isa isa) {
  return isa == Isa::kAvx512 ? kFewRowsAvx512 : kFewRowsAvx2;
}

}  // namespace lockstep
