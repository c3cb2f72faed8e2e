// The ways to multiply. A strategy says in which parts, which scratch memory they need, and
// multiplies one; the kernel around it (dot_kernel.h) runs the parts on threads. Each has a file of
// its own and a function that makes it for a product, or returns null if it does not fit. dot.cpp
// has the order in which they are asked.
#pragma once

#include <cstddef>
#include <memory>

#include "core/kernels/cpu/product/parts.h"
#include "core/kernels/cpu/product/problem.h"

namespace lockstep::product {

/// Immutable once it is generated. Parts may run on several threads at once.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// The parts of a call on so many threads; the number matters only if divides_by_threads(), and
  /// beyond kMaxScratchTasks only if parts need no scratch.
  virtual Parts parts(int threads) const = 0;
  /// If so, no bit may depend on the parts, and calls are not run as tasks of others
  /// (task_kernel.h).
  virtual bool divides_by_threads() const { return false; }

  /// Makes the machine code that it needs.
  virtual void generate() {}

  /// Bytes of what all parts read in place of operands: prepare() makes it, once in a call, with
  /// the scratch memory of a part. Only one that divides by threads may read a for it.
  virtual std::size_t prepared_bytes() const { return 0; }
  virtual void prepare(const Memory& whole, std::byte* prepared, std::byte* scratch) const {
    (void)whole;
    (void)prepared;
    (void)scratch;
  }

  /// Bytes of memory of a part's own, of at most this size, aligned to 64.
  virtual std::size_t scratch_bytes(const Part& largest) const {
    (void)largest;
    return 0;
  }
  /// Multiplies a part, which begins at `at`.
  virtual void run(const Part& part, const Memory& at, const std::byte* prepared,
                   std::byte* scratch) const = 0;
};

using StrategyPtr = std::unique_ptr<Strategy>;

/// A product of nothing, or of sums over nothing: zeros.
StrategyPtr plan_empty(const Problem& problem);
/// A few rows by a matrix so large that reading it dominates the time.
StrategyPtr plan_few_rows(const Problem& problem);
/// bf16 by AMX's tiles.
StrategyPtr plan_tiles(const Problem& problem);
/// bf16 by a matmul primitive of oneDNN, where the processor has units for it.
StrategyPtr plan_bf16_matmul(const Problem& problem);
/// Blocks of operands that are widened or copied to dense f32, and multiplied by dnnl_sgemm.
StrategyPtr plan_blocked(const Problem& problem);
/// f32 by a matmul primitive of oneDNN.
StrategyPtr plan_f32_matmul(const Problem& problem);
/// f32 by dnnl_sgemm.
StrategyPtr plan_gemm(const Problem& problem);

}  // namespace lockstep::product
