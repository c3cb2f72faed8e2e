// The parts of a product that tasks multiply: blocks of rows, columns or batches of its result,
// never along the contracted dimension.
#pragma once

#include <cstdint>

#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/product/problem.h"

namespace lockstep::product {

/// Where a part begins, and how much it is.
struct Part {
  std::int64_t batch, row, column;
  std::int64_t batches, rows, columns;
};

/// How a product is divided.
struct Parts {
  Grid batches;
  Grid rows;
  Grid columns;

  std::int64_t tasks() const { return batches.tasks() * rows.tasks() * columns.tasks(); }
  /// All but the last ones have its size.
  Part largest() const { return {0, 0, 0, batches.step, rows.step, columns.step}; }
  Part part(std::int64_t task) const;
  /// Whether a part has the size of the largest.
  bool is_whole(const Part& part) const;
};

/// All of it as one part.
Parts undivided(const Problem& problem);
/// Parts by the shape alone: batches if there are enough of them, else rows or columns.
Parts divide(const Problem& problem);

}  // namespace lockstep::product
