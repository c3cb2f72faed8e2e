// The inner loops of attention, as a table per instruction set and format of the multiplied
// operands. They are the arithmetic; attention.cpp has the algorithm.
//
// Products multiply *units* of 32 bits: one f32, or two bf16 that are neighbours along the
// contracted dimension and are multiplied and summed at once. Operands are packed before:
//   rows    [rows][depth]: a row's units in order; the left operand of a product over the depth
//   panels  [columns / kPanel][contracted units][kPanel]: the right operand of a product
// All sizes are padded with zeros, so that no loop has a tail: depths and right operands to kPanel,
// rows to kBlock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/ir/target.h"
#include "core/kernels/cpu/base/prefetcher.h"

namespace lockstep {

struct AttentionLoops {
  using Unit = std::uint32_t;
  static constexpr std::int64_t kPanel = 32;  ///< columns that a product computes
  static constexpr std::int64_t kBlock = 8;   ///< rows are whole multiples of it

  std::int64_t pair;   ///< elements in a unit
  std::int64_t block;  ///< rows of products are whole multiples of it: kBlock, or kPanel
  std::int64_t step;   ///< contracted units are whole multiples of it

  /// Called before and after a task; null if not needed.
  void (*enter)();
  void (*leave)();

  /// Converts rows of `depth` elements, `stride` apart, to rows of units of the padded depth; rows
  /// from `rows` to `padded_rows` are zero.
  void (*load_rows)(DType dtype, const std::byte* from, std::int64_t stride, std::int64_t rows,
                    std::int64_t padded_rows, std::int64_t depth, Unit* to);
  /// Makes panels over the rows, contracted over the depth. `rows`, which are `stride` units apart,
  /// and `units` of a row are padded.
  void (*transpose)(const Unit* from, std::int64_t stride, std::int64_t rows, std::int64_t units,
                    Unit* to);
  /// Makes panels over the depth, contracted over the rows.
  void (*interleave)(const Unit* from, std::int64_t stride, std::int64_t rows, std::int64_t units,
                     Unit* to);

  /// c[i][0..columns) = (add ? c : 0) + sum over u < units of a[i * a_row + u * a_unit] panel[u];
  /// `columns` are kPanel or half of it; rows of c are `c_row` apart. It also fetches rows of
  /// `prefetcher`.
  void (*product)(std::int64_t rows, std::int64_t columns, std::int64_t units, const Unit* a,
                  std::int64_t a_row, std::int64_t a_unit, const Unit* panel, float* c,
                  std::int64_t c_row, bool add, Prefetcher& prefetcher);

  /// Changes rows of scores, `stride` apart, to exp(score * scale - largest) for the first
  /// visible[row] of `width` elements (with `key_segments` only those of segments[row]), and to 0
  /// for the others. Also gives 1 / sum of each row, 0 for an empty one. visible[row] does not
  /// decrease; `width` is a multiple of kBlock here and below, and rows have room for whole panels.
  void (*softmax)(float* scores, std::int64_t stride, std::int64_t rows,
                  const std::int64_t* visible, std::int64_t width, float scale,
                  const std::int32_t* key_segments, const std::int32_t* segments, float* inverses);
  /// Multiplies the weights from softmax() by their row's inverse; then changes gradients of
  /// weights to gradients of scores: weight * (gradient - mean) * scale.
  void (*softmax_grad)(float* weights, float* gradients, std::int64_t stride, std::int64_t rows,
                       std::int64_t width, const float* inverses, const float* means, float scale);
  /// Rounds to units along the row, or with `other` to units of both rows; null if `pair` is 1,
  /// where no rounding is needed.
  void (*round_row)(const float* row, std::int64_t width, Unit* to);
  void (*round_rows)(const float* row, const float* other, std::int64_t width, Unit* to);

  /// Products of rows of units: to[r] = x[r] . y[r].
  void (*dots)(const Unit* x, std::int64_t x_row, const Unit* y, std::int64_t y_row,
               std::int64_t rows, std::int64_t units, float* to);
  /// Converts rows of `padded_depth` to rows of `depth` elements, `stride` apart, times
  /// factors[row] (if given).
  void (*store_rows)(DType dtype, const float* from, std::int64_t padded_depth, std::int64_t rows,
                     std::int64_t depth, const float* factors, std::byte* to, std::int64_t stride);
};

extern const AttentionLoops kAttentionAvx2;
extern const AttentionLoops kAttentionAvx512;
extern const AttentionLoops kAttentionBf16;

/// bf16 is multiplied as bf16 if its vectors or tiles are faster, else as f32. Other floats are
/// multiplied as f32.
const AttentionLoops& attention_loops(const Target& target, DType dtype);

}  // namespace lockstep
