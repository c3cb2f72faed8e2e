// An operand of dot_general as a batch of matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/ir/graph.h"
#include "core/kernels/cpu/base/onednn.h"
#include "core/kernels/cpu/base/strided.h"

namespace lockstep {

/// Dimensions of one operand with the same role, as sizes and strides.
struct DotRole {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;

  void add(const Shape& shape, std::int64_t d) {
    sizes.push_back(shape[static_cast<int>(d)]);
    strides.push_back(shape.strides()[static_cast<std::size_t>(d)]);
  }
  StridedView view() const { return {sizes, strides}; }
  bool collapses() const { return view().dims.size() <= 1; }
  /// The stride of the collapsed dimension; `otherwise` if it has one element.
  std::int64_t stride(std::int64_t otherwise) const {
    const StridedView v = view();
    return v.dims.empty() ? otherwise : v.dims[0].stride;
  }
};

/// An operand as a batch of matrices, [batch, row, column] with rows and columns as in the product.
struct DotOperand {
  DType stored;  ///< in memory
  std::int64_t batch_stride = 0;
  MatrixStrides strides{1, 1};
  bool copied = false;  ///< reordered into scratch
  StridedView order;    ///< if copied: canonical order [batch, row, column]
  std::int64_t elements = 0;
};

DotOperand plan_dot_operand(const Type& type, const DotRole& batch, const DotRole& row,
                            const DotRole& column, std::int64_t rows, std::int64_t columns);

/// Copies an operand into its canonical order.
void copy_in_order(const DotOperand& operand, const std::byte* data, std::byte* scratch,
                   ThreadPool& pool);

}  // namespace lockstep
