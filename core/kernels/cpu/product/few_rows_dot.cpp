#include <algorithm>

#include "core/ir/infer.h"
#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/base/vector_loops.h"
#include "core/kernels/cpu/product/few_rows.h"
#include "core/kernels/cpu/product/few_rows_loops.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMaxRows = 8;
/// Elements of the matrix: below, it stays in the cache, where dnnl_sgemm is as fast.
constexpr std::int64_t kMinWeights = std::int64_t{1} << 19;
/// Sums of a task: they stay in the second cache.
constexpr std::int64_t kMaxSums = std::int64_t{1} << 15;
/// Columns of a task that reads a part of each row, at least, and of one of a transposed matrix.
constexpr std::int64_t kMinColumns = 256;
constexpr std::int64_t kTransposedColumns = 1024;
/// Floats of a line of the cache.
constexpr std::int64_t kLine = 16;

class FewRowsDot final : public Kernel {
 public:
  FewRowsDot(const DotDims& dims, bool transposed, const Node& node, Types operands,
             const Target& target)
      : loops_(few_rows_loops(target.isa)),
        vectors_(loops_for(target.isa)),
        rows_(dims.m),
        columns_(dims.n),
        depth_(dims.k),
        transposed_(transposed),
        x_(operands[0].dtype),
        w_(operands[1].dtype),
        result_(node.type.dtype) {}

  WorkClass work() const override { return WorkClass::kDot; }
  std::size_t scratch_bytes() const override {
    return x_ == DType::kF32 ? 0 : static_cast<std::size_t>(rows_ * depth_) * sizeof(float);
  }

  void run(const KernelCall& call) const override {
    const auto* x = reinterpret_cast<const float*>(call.operands[0]);
    if (x_ != DType::kF32) {
      auto* wide = reinterpret_cast<float*>(call.scratch);
      vectors_.to_f32(x_, call.operands[0], rows_ * depth_, wide);
      x = wide;
    }
    const Grid grid = divided(call.pool.threads());
    call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
      run_columns(x, call.operands[1], grid.begin(task), grid.end(task) - grid.begin(task),
                  call.results[0]);
    });
  }

 private:
  /// One thread reads whole rows in the order of memory: this is a third faster than reading parts
  /// of them, as several threads must. It changes no bit, as every column is a separate sum along
  /// k.
  Grid divided(int threads) const {
    const std::int64_t part = std::max((columns_ + threads - 1) / threads, kMinColumns);
    const std::int64_t share = transposed_ ? kTransposedColumns : part;
    const std::int64_t max_step = kMaxSums / rows_ / kLine * kLine;
    return {columns_, even_step(columns_, std::min(share, max_step), kLine)};
  }

  void run_columns(const float* x, const std::byte* w, std::int64_t first, std::int64_t count,
                   std::byte* result) const {
    alignas(64) float on_stack[kMaxSums];
    const auto bytes = static_cast<std::int64_t>(size_of(w_));
    const bool direct = result_ == DType::kF32;
    float* sums = direct ? reinterpret_cast<float*>(result) + first : on_stack;
    const std::int64_t sums_row = direct ? columns_ : count;
    if (transposed_) {
      loops_.transposed_product(w_, rows_, depth_, count, x, w + first * depth_ * bytes, depth_,
                                sums, sums_row);
    } else {
      loops_.product(w_, rows_, depth_, count, x, w + first * bytes, columns_, sums, sums_row);
    }
    if (direct) return;
    const auto out = static_cast<std::int64_t>(size_of(result_));
    for (std::int64_t i = 0; i < rows_; ++i)
      vectors_.from_f32(result_, sums + i * sums_row, count, result + (i * columns_ + first) * out);
  }

  const FewRowsLoops& loops_;
  const VectorLoops& vectors_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t depth_;
  bool transposed_;
  DType x_;
  DType w_;
  DType result_;
};

}  // namespace

KernelPtr plan_few_rows_dot(const Node& node, Types operands, const Target& target) {
  const Shape& x = operands[0].shape;
  const Shape& w = operands[1].shape;
  const IntView from = node.attrs.ints(Attr::kLhsContract);
  const IntView to = node.attrs.ints(Attr::kRhsContract);
  if (!node.attrs.ints(Attr::kLhsBatch).empty() || from.size() != 1 || from[0] != x.rank() - 1 ||
      w.rank() != 2)
    return nullptr;
  const DotDims dims = dot_dims(operands[0], operands[1], node.attrs);
  const bool reads = FewRowsLoops::can_read(operands[0].dtype) &&
                     FewRowsLoops::can_read(operands[1].dtype) &&
                     FewRowsLoops::can_read(node.type.dtype);
  if (!reads || dims.m < 1 || dims.m > kMaxRows || dims.k * dims.n < kMinWeights) return nullptr;
  return std::make_unique<FewRowsDot>(dims, to[0] == 1, node, operands, target);
}

}  // namespace lockstep
