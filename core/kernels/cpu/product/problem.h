// A dot_general as products of matrices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/ir/target.h"
#include "core/kernels/cpu/base/reference_kernel.h"
#include "core/kernels/cpu/product/dot_operand.h"

namespace lockstep::product {

/// Where the operands and the result are in memory, or a part of them.
struct Memory {
  const std::byte* a;
  const std::byte* b;
  std::byte* c;
};

/// c[i] = a[i] b[i] for i < batch, where a[i] has m x k elements and b[i] has k x n. Batch, free
/// and contracting dimensions collapse to one stride each where they can, so that transposes cost
/// nothing. c is dense.
struct Problem {
  Problem(const Node& node, Types operands, const Target& target);

  std::int64_t batch, m, n, k;
  DotOperand a, b;
  DType result;
  Target target;
  /// Whether a's last dimension, and no other, is contracted with b, which is a plain matrix; and
  /// if so, whether that matrix is stored as [n, k].
  bool by_matrix;
  bool by_transposed_matrix;

  bool is_empty() const { return batch * m * n * k == 0; }
  /// What begins at this batch, row and column of the result, where `whole` is all.
  Memory at(const Memory& whole, std::int64_t first_batch, std::int64_t row,
            std::int64_t column) const;
};

/// Whether columns of a lie in few sets of a cache (tuning.h, aliased).
bool aliases_a(const Problem& problem);
/// Whether a is copied block by block for this reason.
bool copies_a(const Problem& problem);
/// Whether it is a product of bf16, and oneDNN has units of the processor for it.
bool multiplies_bf16(const Problem& problem);
/// Whether b, if oneDNN multiplies, is packed once before all parts (tuning.h, prepared).
bool prepares_b(const Problem& problem);

}  // namespace lockstep::product
