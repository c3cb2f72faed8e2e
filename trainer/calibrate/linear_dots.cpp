#include "trainer/calibrate/linear_dots.h"

#include <algorithm>
#include <array>
#include <memory>

#include "trainer/calibrate/busy_cores.h"

namespace lockstep {
namespace {

Attrs contraction(std::int64_t lhs, std::int64_t rhs) {
  return {{Attr::kLhsBatch, {}},
          {Attr::kRhsBatch, {}},
          {Attr::kLhsContract, {lhs}},
          {Attr::kRhsContract, {rhs}}};
}

}  // namespace

SingleKernel linear_dot(LinearDot dot, DType dtype, std::int64_t rows, std::int64_t in,
                        std::int64_t out, const Target& target, int threads) {
  const Type x{dtype, {rows, in}};
  const Type w{dtype, {in, out}};
  const Type dy{dtype, {rows, out}};
  const auto product = [&](const Type& a, const Type& b, Attrs attrs) {
    return SingleKernel(Op::kDotGeneral, std::array{a, b}, std::move(attrs), target, threads);
  };
  switch (dot) {
    case LinearDot::kForward: return product(x, w, contraction(1, 0));
    case LinearDot::kInputGradient: return product(dy, w, contraction(1, 1));
    case LinearDot::kWeightGradient: return product(x, dy, contraction(0, 0));
  }
  __builtin_unreachable();
}

void measure_dot(DotRate& row, const Target& target, double seconds) {
  row.flops_per_s = 0;
  for (const LinearDot dot :
       {LinearDot::kForward, LinearDot::kInputGradient, LinearDot::kWeightGradient}) {
    const MakeWork make = [&row, &target, dot] {
      // Not movable, because its thread pool is not.
      const auto kernel = std::shared_ptr<SingleKernel>(new SingleKernel(
          linear_dot(dot, row.dtype, row.m, row.k, row.n, target, row.cores.threads)));
      return [kernel] { kernel->run(); };
    };
    row.flops_per_s =
        std::max(row.flops_per_s, row.flops() / min_seconds(make, row.cores.ranks, seconds));
  }
}

}  // namespace lockstep
