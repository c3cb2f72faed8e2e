// Numbers (sizes and strides of the rows' dimensions) that code receives with each call and uses
// once per row, instead of constants. So groups that differ only in their number of rows, such as
// those of a step for batches of another length, share a function.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels/codegen/loop_nest.h"

namespace lockstep::codegen {

/// A term of the row's part of a view's index: coordinate times stride.
struct RowTerm {
  static constexpr int kWholeRow = -1;
  int dimension;  ///< of the nest's rows; kWholeRow: the coordinate is the row's number
  int stride;     ///< index of the nest's number
  friend bool operator==(const RowTerm&, const RowTerm&) = default;
};

/// How to compute a row's coordinate along a dimension: row / inner % size. Members are indices of
/// the nest's numbers, -1 if the step is not needed.
struct RowCoordinate {
  int inner_reciprocal = -1;
  int size = -1;
  int size_reciprocal = -1;
};

/// Whether the index is `step` times the place in row-major order of `sizes`.
bool is_dense(const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& sizes,
              std::int64_t step);

/// The numbers that the functions below refer to, each once.
std::vector<Number> collect_numbers(const LoopNest& nest);

/// The index of a view's offset among the numbers; it must have one.
int offset_number(const LoopNest& nest, const View& view);
/// The terms of a view; empty if all rows begin at the same place.
std::vector<RowTerm> row_terms(const LoopNest& nest, const View& view);
RowCoordinate row_coordinate(const LoopNest& nest, int dimension);
/// Whether every row of random words starts a block of four.
bool starts_blocks(const View& view);
/// The index of the number of columns; -1 if it is a constant of the code.
int column_number(const LoopNest& nest);

/// r such that x / divisor is the upper half of the 128 bit product of x and r, for all x and
/// divisors below 2^32, divisor > 1 (Lemire, Kaser, Kurz: Faster remainder by direct computation,
/// 2019); as bits.
std::int64_t reciprocal(std::int64_t divisor);

}  // namespace lockstep::codegen
