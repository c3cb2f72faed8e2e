// The hot loops of kernels other than elementwise ones, as a table per instruction set.
// Both tables come from the same templates (vector_loops_impl.h) and give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/ir/op.h"
#include "core/ir/target.h"

namespace lockstep {

struct PhiloxCounter {
  std::uint32_t key[2];
  std::uint32_t micro_batch;
  std::uint32_t step_low;
  std::uint32_t step_high;
};

/// Loops of one reduction op over elements of one dtype, see reduce.cpp for the shapes. Partial
/// results are of the accumulation type: f32 for bf16 and f16, else the dtype itself.
struct ReduceLoops {
  std::size_t partial_bytes = 0;
  /// out[0] = in[0] op ... op in[count - 1], over the fixed lane tree.
  void (*row)(const std::byte* in, std::int64_t count, std::byte* out) = nullptr;
  /// out[c] = in[0][c] op ... op in[rows - 1][c] for c < columns, in order of the rows; rows >= 1,
  /// rows lie `stride` elements apart.
  void (*column)(const std::byte* in, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                 std::byte* out) = nullptr;
  /// out[c] = out[c] op in[c], of partial results.
  void (*combine)(const std::byte* in, std::int64_t columns, std::byte* out) = nullptr;
  /// Initial partial results.
  void (*clear)(std::int64_t columns, std::byte* out) = nullptr;
};

struct VectorLoops {
  /// out[0, 4 * blocks) = the Philox words of these blocks; `blocks` a multiple of 8.
  void (*philox)(const PhiloxCounter& counter, std::uint64_t first_block, std::int64_t blocks,
                 std::uint32_t* out);
  ReduceLoops (*reduce)(ReductionOp op, DType dtype);
  /// to[i] += from[i], elements of `dtype` (16-bit floats round each sum).
  void (*add)(DType dtype, const std::byte* from, std::int64_t count, std::byte* to);
  void (*to_f32)(DType dtype, const std::byte* from, std::int64_t count, float* to);
  void (*from_f32)(DType dtype, const float* from, std::int64_t count, std::byte* to);
  /// One element of many pooling windows: window j sees x[j * stride], which becomes its maximum
  /// best[j] if it is larger, NaN or the first; then indices[j] = index + j * stride. indices[j] <
  /// 0 means that the window has no element yet.
  void (*max_pool)(const float* x, std::int64_t stride, std::int64_t count, std::int32_t index,
                   float* best, std::int32_t* indices);
  /// row[i] = bits[i] >> 8 < threshold ? 0 : row[i] * scale.
  void (*dropout)(const std::uint32_t* bits, std::uint32_t threshold, float scale,
                  std::int64_t count, float* row);
};

extern const VectorLoops kLoopsAvx2;
extern const VectorLoops kLoopsAvx512;

inline const VectorLoops& loops_for(Isa isa) {
  return isa == Isa::kAvx512 ? kLoopsAvx512 : kLoopsAvx2;
}

}  // namespace lockstep
