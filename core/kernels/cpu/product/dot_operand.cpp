#include "core/kernels/cpu/product/dot_operand.h"

#include "core/kernels/base/grid.h"

namespace lockstep {

DotOperand plan_dot_operand(const Type& type, const DotRole& batch, const DotRole& row,
                            const DotRole& column, std::int64_t rows, std::int64_t columns) {
  DotOperand out;
  out.stored = type.dtype;
  out.elements = type.elements();
  const std::int64_t row_stride = row.stride(columns);
  const std::int64_t column_stride = column.stride(1);
  const bool unit = column_stride == 1 || row_stride == 1 || rows == 1 || columns == 1;
  if (batch.collapses() && row.collapses() && column.collapses() && unit) {
    out.batch_stride = batch.stride(rows * columns);
    out.strides = {row_stride, column_stride};
    // The stride of a side of one element is free: one that keeps rows and columns apart.
    if (rows == 1 && column_stride != 1) out.strides.row = 1;
    if (columns == 1 && row_stride == 1) out.strides.column = rows;
    return out;
  }
  out.copied = true;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  for (const DotRole* role : {&batch, &row, &column}) {
    sizes.insert(sizes.end(), role->sizes.begin(), role->sizes.end());
    strides.insert(strides.end(), role->strides.begin(), role->strides.end());
  }
  out.order = StridedView(sizes, strides);
  out.batch_stride = rows * columns;
  out.strides = {columns, 1};
  return out;
}

void copy_in_order(const DotOperand& operand, const std::byte* data, std::byte* scratch,
                   ThreadPool& pool) {
  if (!operand.copied) return;
  const std::size_t bytes = size_of(operand.stored);
  const Grid grid{operand.elements, kTaskElements};
  pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
    const std::int64_t begin = grid.begin(task);
    load_view(operand.order, data, bytes, begin, grid.end(task) - begin,
              scratch + static_cast<std::size_t>(begin) * bytes);
  });
}

}  // namespace lockstep
