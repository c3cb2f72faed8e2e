// A product of matrices in f32 whose operands are not multiplied in place: they are bf16 or f16, or
// one is so wide that reading it column by column misses the cache. Block by block, pieces of them
// are widened or copied into dense memory that stays in the core's cache, and multiplied by
// dnnl_sgemm; a block of the result is rounded while it is in the cache.
#include <algorithm>
#include <cstring>

#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/base/onednn.h"
#include "core/kernels/cpu/base/vector_loops.h"
#include "core/kernels/cpu/product/strategy.h"
#include "core/kernels/cpu/product/tuning.h"

namespace lockstep::product {
namespace {

/// The longest even_step of sizes up to `size`.
std::int64_t longest_step(std::int64_t size, std::int64_t max_step) {
  return std::min(max_step, round_up(size, tuning::blocked::kVector));
}

/// Where the parts of scratch begin, in floats: a block of a, one of b, and a panel of sums.
struct BlockedScratch {
  BlockedScratch(std::int64_t m, std::int64_t n, std::int64_t k)
      : b(longest_step(m, tuning::blocked::kRows) * longest_step(k, tuning::blocked::kDepth)),
        sums(b +
             longest_step(k, tuning::blocked::kDepth) * longest_step(n, tuning::blocked::kColumns)),
        end(sums + m * longest_step(n, tuning::blocked::kColumns)) {}
  std::int64_t b;
  std::int64_t sums;
  std::int64_t end;
};

/// With f32 sums in one fixed order.
class BlockedProduct final : public Strategy {
 public:
  explicit BlockedProduct(const Problem& p)
      : p_(p),
        loops_(loops_for(p.target.isa)),
        a_{p.a.stored, p.a.strides, p.a.stored == DType::kF32 && !copies_a(p)},
        b_{p.b.stored, p.b.strides, p.b.stored == DType::kF32} {}

  Parts parts(int /*threads*/) const override { return divide(p_); }

  std::size_t scratch_bytes(const Part& largest) const override {
    const BlockedScratch at(largest.rows, largest.columns, p_.k);
    return static_cast<std::size_t>(at.end) * sizeof(float);
  }
  void run(const Part& part, const Memory& at, const std::byte* /*prepared*/,
           std::byte* scratch) const override {
    for (std::int64_t i = 0; i < part.batches; ++i)
      multiply(part.rows, part.columns, p_.at(at, i, 0, 0), reinterpret_cast<float*>(scratch));
  }

 private:
  struct Operand {
    DType stored;           ///< f32, bf16 or f16
    MatrixStrides strides;  ///< in elements; one of them is 1
    bool in_place;          ///< f32 whose blocks are multiplied in place
  };
  struct Piece {
    const float* data;
    MatrixStrides strides;
  };
  /// Loads the block of `rows` x `columns` elements at `from` into `to`, unless it is used in
  /// place.
  Piece load(const Operand& operand, const std::byte* from, std::int64_t rows, std::int64_t columns,
             float* to) const;
  void multiply(std::int64_t m, std::int64_t n, const Memory& at, float* scratch) const;

  Problem p_;
  const VectorLoops& loops_;
  Operand a_;
  Operand b_;
};

BlockedProduct::Piece BlockedProduct::load(const Operand& operand, const std::byte* from,
                                           std::int64_t rows, std::int64_t columns,
                                           float* to) const {
  if (operand.in_place) return {reinterpret_cast<const float*>(from), operand.strides};
  const bool by_rows = operand.strides.column == 1;
  const std::int64_t lines = by_rows ? rows : columns;
  const std::int64_t length = by_rows ? columns : rows;
  const std::int64_t stride = by_rows ? operand.strides.row : operand.strides.column;
  const auto bytes = static_cast<std::int64_t>(size_of(operand.stored));
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::byte* source = from + line * stride * bytes;
    if (operand.stored == DType::kF32) {
      std::memcpy(to + line * length, source, static_cast<std::size_t>(length * bytes));
    } else {
      loops_.to_f32(operand.stored, source, length, to + line * length);
    }
  }
  return {to, by_rows ? MatrixStrides{length, 1} : MatrixStrides{1, length}};
}

void BlockedProduct::multiply(std::int64_t m, std::int64_t n, const Memory& at,
                              float* scratch) const {
  const BlockedScratch parts(m, n, p_.k);
  const std::int64_t m_step = even_step(m, tuning::blocked::kRows, tuning::blocked::kVector);
  const std::int64_t n_step = even_step(n, tuning::blocked::kColumns, tuning::blocked::kVector);
  const std::int64_t k_step = even_step(p_.k, tuning::blocked::kDepth, tuning::blocked::kVector);
  const auto a_bytes = static_cast<std::int64_t>(size_of(a_.stored));
  const auto b_bytes = static_cast<std::int64_t>(size_of(b_.stored));
  const auto c_bytes = static_cast<std::int64_t>(size_of(p_.result));
  const bool direct = p_.result == DType::kF32;
  for (std::int64_t j = 0; j < n; j += n_step) {
    const std::int64_t columns = std::min(n_step, n - j);
    std::byte* const out = at.c + j * c_bytes;
    float* const sums = direct ? reinterpret_cast<float*>(out) : scratch + parts.sums;
    const std::int64_t sums_row = direct ? p_.n : columns;
    for (std::int64_t p = 0; p < p_.k; p += k_step) {
      const std::int64_t depth = std::min(k_step, p_.k - p);
      const Piece right = load(b_, at.b + (p * b_.strides.row + j * b_.strides.column) * b_bytes,
                               depth, columns, scratch + parts.b);
      for (std::int64_t i = 0; i < m; i += m_step) {
        const std::int64_t rows = std::min(m_step, m - i);
        const Piece left = load(a_, at.a + (i * a_.strides.row + p * a_.strides.column) * a_bytes,
                                rows, depth, scratch);
        gemm_f32(rows, columns, depth, 1.0F, left.data, left.strides, right.data, right.strides,
                 p > 0 ? 1.0F : 0.0F, sums + i * sums_row, sums_row);
      }
    }
    if (direct) continue;
    for (std::int64_t i = 0; i < m; ++i)
      loops_.from_f32(p_.result, sums + i * columns, columns, out + i * p_.n * c_bytes);
  }
}

}  // namespace

StrategyPtr plan_blocked(const Problem& p) {
  const bool fits = p.a.stored != DType::kF32 || p.result != DType::kF32 || copies_a(p);
  return fits ? std::make_unique<BlockedProduct>(p) : nullptr;
}

}  // namespace lockstep::product
