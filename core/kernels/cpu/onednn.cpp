#include "core/kernels/cpu/onednn.h"

#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/kernels/cpu/onednn_engine.h"

namespace lockstep {
namespace {

/// Transposition flag and leading dimension of an operand with `rows` x `columns` elements. Where a
/// size is 1 its stride may be anything, and the other must be the unit one.
struct Layout {
  char trans;
  dnnl_dim_t ld;
};
Layout layout_of(MatrixStrides s, std::int64_t rows, std::int64_t columns) {
  if (s.column == 1 || columns == 1)
    return {'N', rows == 1 ? std::max<std::int64_t>(columns, 1) : s.row};
  LS_CHECK(s.row == 1 || rows == 1, "a matrix needs a unit stride, not {} and {}", s.row, s.column);
  return {'T', s.column};
}

}  // namespace

void gemm_f32(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
              MatrixStrides a_strides, const float* b, MatrixStrides b_strides, float beta,
              float* c, std::int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        c[i * ldc + j] = beta == 0.0F ? 0.0F : beta * c[i * ldc + j];
    return;
  }
  use_one_onednn_thread();
  const Layout la = layout_of(a_strides, m, k);
  const Layout lb = layout_of(b_strides, k, n);
  const dnnl_status_t status =
      dnnl_sgemm(la.trans, lb.trans, m, n, k, alpha, a, la.ld, b, lb.ld, beta, c, ldc);
  LS_CHECK(status == dnnl_success, "dnnl_sgemm failed with status {}", static_cast<int>(status));
}

struct Matmul::State {
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
};

Matmul::Matmul(std::unique_ptr<State> state) : state_(std::move(state)) {}
Matmul::~Matmul() = default;

std::unique_ptr<Matmul> Matmul::create(const MatmulShape& shape) {
  using Dims = dnnl::memory::dims;
  use_one_onednn_thread();
  const dnnl::memory::desc a(Dims{shape.batch, shape.m, shape.k}, onednn_type(shape.operands),
                             Dims{shape.a_batch, shape.a.row, shape.a.column});
  const dnnl::memory::desc b(Dims{shape.batch, shape.k, shape.n}, onednn_type(shape.operands),
                             Dims{shape.b_batch, shape.b.row, shape.b.column});
  const dnnl::memory::desc c(Dims{shape.batch, shape.m, shape.n}, onednn_type(shape.result),
                             Dims{shape.c_batch, shape.ldc, 1});
  try {
    dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), user_scratchpad(),
                                             onednn_engine());
    dnnl::matmul primitive(description);
    return std::unique_ptr<Matmul>(
        new Matmul(std::make_unique<State>(State{std::move(description), std::move(primitive)})));
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    throw;
  }
}

std::size_t Matmul::scratch_bytes() const {
  return state_->description.scratchpad_desc().get_size();
}

void Matmul::run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) const {
  const auto& d = state_->description;
  run_onednn(state_->primitive, {{DNNL_ARG_SRC, {d.src_desc(), a}},
                                 {DNNL_ARG_WEIGHTS, {d.weights_desc(), b}},
                                 {DNNL_ARG_DST, {d.dst_desc(), c}},
                                 {DNNL_ARG_SCRATCHPAD, {d.scratchpad_desc(), scratch}}});
}

}  // namespace lockstep
