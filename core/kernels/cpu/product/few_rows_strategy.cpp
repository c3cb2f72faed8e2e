#include <algorithm>

#include "core/kernels/cpu/base/vector_loops.h"
#include "core/kernels/cpu/product/few_rows_loops.h"
#include "core/kernels/cpu/product/strategy.h"
#include "core/kernels/cpu/product/tuning.h"

namespace lockstep::product {
namespace {

class FewRowsProduct final : public Strategy {
 public:
  explicit FewRowsProduct(const Problem& problem)
      : p_(problem),
        loops_(few_rows_loops(problem.target.isa)),
        vectors_(loops_for(problem.target.isa)) {}

  /// One thread reads whole rows in the order of memory: this is a third faster than reading parts
  /// of them, as several threads must. It changes no bit, as every column is a separate sum along
  /// k.
  Parts parts(int threads) const override {
    using tuning::few_rows::kLine;
    const std::int64_t part =
        std::max((p_.n + threads - 1) / threads, tuning::few_rows::kMinColumns);
    const std::int64_t share =
        p_.by_transposed_matrix ? tuning::few_rows::kTransposedColumns : part;
    const std::int64_t max_step = tuning::few_rows::kMaxSums / p_.m / kLine * kLine;
    Parts out = undivided(p_);
    out.columns.step = even_step(p_.n, std::min(share, max_step), kLine);
    return out;
  }
  bool divides_by_threads() const override { return true; }

  /// a in f32.
  std::size_t prepared_bytes() const override {
    return widens() ? static_cast<std::size_t>(p_.m * p_.k) * sizeof(float) : 0;
  }
  void prepare(const Memory& whole, std::byte* prepared, std::byte* /*scratch*/) const override {
    vectors_.to_f32(p_.a.stored, whole.a, p_.m * p_.k, reinterpret_cast<float*>(prepared));
  }

  void run(const Part& part, const Memory& at, const std::byte* prepared,
           std::byte* /*scratch*/) const override {
    alignas(64) float on_stack[tuning::few_rows::kMaxSums];
    const auto* x = reinterpret_cast<const float*>(widens() ? prepared : at.a);
    const bool direct = p_.result == DType::kF32;
    float* const sums = direct ? reinterpret_cast<float*>(at.c) : on_stack;
    const std::int64_t sums_row = direct ? p_.n : part.columns;
    if (p_.by_transposed_matrix) {
      loops_.transposed_product(p_.b.stored, p_.m, p_.k, part.columns, x, at.b, p_.k, sums,
                                sums_row);
    } else {
      loops_.product(p_.b.stored, p_.m, p_.k, part.columns, x, at.b, p_.n, sums, sums_row);
    }
    if (direct) return;
    for (std::int64_t i = 0; i < p_.m; ++i)
      vectors_.from_f32(p_.result, sums + i * sums_row, part.columns, p_.at(at, 0, i, 0).c);
  }

 private:
  bool widens() const { return p_.a.stored != DType::kF32; }

  Problem p_;
  const FewRowsLoops& loops_;
  const VectorLoops& vectors_;
};

}  // namespace

StrategyPtr plan_few_rows(const Problem& p) {
  const bool fits = p.by_matrix && FewRowsLoops::can_read(p.a.stored) &&
                    FewRowsLoops::can_read(p.b.stored) && FewRowsLoops::can_read(p.result) &&
                    p.m >= 1 && p.m <= tuning::few_rows::kMaxRows &&
                    p.k * p.n >= tuning::few_rows::kMinWeights;
  return fits ? std::make_unique<FewRowsProduct>(p) : nullptr;
}

}  // namespace lockstep::product
