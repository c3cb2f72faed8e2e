// The only door to oneDNN's matrix products. Row-major, f32 accumulation, on the calling thread
// alone: oneDNN's own threading would change bits with the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/dtype.h"

namespace lockstep {

/// One operand of a product: element (i, j) at data[i * row + j * column]; one of the strides is 1.
struct MatrixStrides {
  std::int64_t row;
  std::int64_t column;
};

/// c[i][j] = alpha * sum_k a[i][k] b[k][j] + beta * c[i][j]; rows of c are `ldc` apart. Sizes of
/// zero are allowed; k = 0 gives beta * c.
void gemm_f32(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
              MatrixStrides a_strides, const float* b, MatrixStrides b_strides, float beta,
              float* c, std::int64_t ldc);

struct MatmulShape {
  std::int64_t batch, m, n, k;
  DType operands;  ///< f32 or bf16
  DType result;    ///< f32 or bf16
  std::int64_t a_batch, b_batch, c_batch;
  MatrixStrides a, b;
  std::int64_t ldc;
};

/// A compiled batched product. Immutable; may run on several threads at once.
class Matmul {
 public:
  /// Null if oneDNN has no implementation on this CPU. Sizes are positive.
  static std::unique_ptr<Matmul> create(const MatmulShape& shape);
  ~Matmul();
  std::size_t scratch_bytes() const;
  /// `scratch`: scratch_bytes() bytes of this call's own.
  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) const;

 private:
  struct State;
  explicit Matmul(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
