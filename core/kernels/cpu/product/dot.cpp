// Chooses how a product is multiplied: the first strategy that fits.
#include "core/kernels/cpu/product/dot.h"

#include "core/base/error.h"
#include "core/kernels/cpu/product/dot_kernel.h"
#include "core/kernels/cpu/product/strategy.h"

namespace lockstep::product {
namespace {

constexpr StrategyPtr (*kStrategies[])(const Problem&) = {
    plan_empty,        // zeros
    plan_few_rows,     // the time to read b dominates
    plan_tiles,        // bf16: AMX
    plan_bf16_matmul,  // bf16: other units of the processor
    plan_blocked,      // bf16 and f16 else; f32 that is rounded, or whose a misses the cache
    plan_f32_matmul,   // f32: batches, a transposed b
    plan_gemm,         // f32: all else
};

StrategyPtr first_that_fits(const Problem& problem) {
  for (const auto plan : kStrategies)
    if (StrategyPtr strategy = plan(problem)) return strategy;
  LS_CHECK(false, "no strategy fits a product of {}", name_of(problem.a.stored));
}

/// f64 and integers are for oracles and counting: a fast product would not pay.
bool is_fast(DType dtype) {
  return is_float(dtype) && dtype != DType::kF64;
}

}  // namespace
}  // namespace lockstep::product

namespace lockstep {

KernelPtr plan_dot(const Node& node, Types operands, const Target& target) {
  if (!product::is_fast(operands[0].dtype) || !product::is_fast(node.type.dtype))
    return plan_reference_kernel(node, operands, WorkClass::kDot);
  const product::Problem problem(node, operands, target);
  return std::make_unique<product::DotKernel>(problem, product::first_that_fits(problem));
}

}  // namespace lockstep
