// A product of matrices in f32 whose operands are not multiplied in place: they are bf16 or f16, or
// one is so wide that reading it column by column misses the cache. Block by block, pieces of them
// are widened or copied into dense memory that stays in the core's cache, and multiplied by
// dnnl_sgemm; a block of the result is rounded while it is in the cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/kernels/cpu/base/onednn.h"
#include "core/kernels/cpu/base/vector_loops.h"

namespace lockstep {

struct BlockedOperand {
  DType stored;           ///< f32, bf16 or f16
  MatrixStrides strides;  ///< in elements; one of them is 1
  bool in_place = false;  ///< f32 whose blocks are multiplied in place
};

/// a[m, k] b[k, n] with f32 sums in one fixed order. Immutable; may run on several threads at once.
class BlockedProduct {
 public:
  /// `result` is f32, bf16 or f16; its rows are `ldc` elements apart. k is positive.
  BlockedProduct(const VectorLoops& loops, BlockedOperand a, BlockedOperand b, std::int64_t k,
                 DType result, std::int64_t ldc);

  /// For run() with at most these sizes.
  std::size_t scratch_bytes(std::int64_t m, std::int64_t n) const;
  /// `scratch`: scratch_bytes(m, n) bytes for this call alone, aligned to 64.
  void run(std::int64_t m, std::int64_t n, const std::byte* a, const std::byte* b, std::byte* c,
           std::byte* scratch) const;

 private:
  struct Piece {
    const float* data;
    MatrixStrides strides;
  };
  /// Loads the block of `rows` x `columns` elements at `from` into `to`, unless it is used in
  /// place.
  Piece load(const BlockedOperand& operand, const std::byte* from, std::int64_t rows,
             std::int64_t columns, float* to) const;

  const VectorLoops& loops_;
  BlockedOperand a_;
  BlockedOperand b_;
  std::int64_t k_;
  DType result_;
  std::int64_t ldc_;
};

}  // namespace lockstep
