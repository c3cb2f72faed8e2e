// The only interface to oneDNN: matrix products and convolutions with f32 accumulation, on the
// calling thread only, since with oneDNN's own threading bits would depend on the number of
// threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/dtype.h"
#include "core/ir/op.h"

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

/// A batched product: described, then generated, then run, also on several threads at once.
class Matmul {
 public:
  /// Describes it without machine code. Null if oneDNN has no implementation on this CPU. Sizes are
  /// positive.
  static std::unique_ptr<Matmul> describe(const MatmulShape& shape);
  /// A product that reads b as copied by prepare(), in the order that oneDNN prefers, or in the
  /// order of `like`, if given: then the latter's prepare() works for both. `batch` is 1.
  static std::unique_ptr<Matmul> describe_prepared(const MatmulShape& shape,
                                                   const Matmul* like = nullptr);
  ~Matmul();
  std::size_t scratch_bytes() const;
  /// Bytes of prepare()'s result; 0: run() reads b itself.
  std::size_t prepared_bytes() const;
  /// Makes the machine code that run() and prepare() need.
  void generate();
  /// `scratch`: scratch_bytes() bytes for this call alone.
  void prepare(const std::byte* b, std::byte* prepared, std::byte* scratch) const;
  /// `b` may be prepared; `scratch` as above.
  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) const;

 private:
  struct State;
  explicit Matmul(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Sizes of a convolution x[n,c,h,w] * w[o,c/groups,kh,kw] -> y[n,o,oh,ow], all positive.
struct ConvolutionShape {
  std::int64_t n, c, h, w, o, kh, kw, oh, ow, groups;
  std::array<std::int64_t, 2> stride, dilation, padding_low, padding_high;
  bool channels_last;  ///< x and y are stored as [n,h,w,c]
  DType operands;      ///< f32 or bf16
  DType result;        ///< f32 or bf16

  std::vector<std::int64_t> x_sizes() const { return {n, c, h, w}; }
  std::vector<std::int64_t> y_sizes() const { return {n, o, oh, ow}; }
  /// With a leading dimension of groups if there are several.
  std::vector<std::int64_t> w_sizes() const {
    if (groups == 1) return {o, c, kh, kw};
    return {groups, o / groups, c / groups, kh, kw};
  }
};

/// A convolution or gradient: described, then generated, then run, also on several threads at once.
/// Images that are channels_last are read and written in place; others, and weights, through copies
/// in the layout that oneDNN prefers.
class Convolution {
 public:
  /// Describes it without machine code. For kConvolution, kConvolutionGradInput or
  /// kConvolutionGradWeight of `part`, whose arrays are windows of those of `whole`. Null if oneDNN
  /// has no implementation.
  static std::unique_ptr<Convolution> describe(Op op, const ConvolutionShape& part,
                                               const ConvolutionShape& whole);
  ~Convolution();
  /// Bytes of the copy of weights that run() reads; 0: it reads the weights themselves.
  std::size_t prepared_bytes() const;
  std::size_t scratch_bytes() const;
  /// Makes the machine code that run() needs.
  void generate();
  /// Copies the weights, which all parts of a kConvolution or kConvolutionGradInput share, into
  /// `prepared`; `scratch`: scratch_bytes() bytes for this call alone.
  void prepare(const std::byte* weights, std::byte* prepared, std::byte* scratch) const;
  /// Operands and result as the node's, except prepared weights; `scratch` as above.
  void run(const std::byte* first, const std::byte* second, std::byte* result,
           std::byte* scratch) const;

 private:
  struct State;
  explicit Convolution(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
