// Costs of plans, by the source of the times.
#include "core/runtime/plan_cost.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/runtime/simple_plan.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep {
namespace {

/// Two products, one of them of bf16, and three loops, two of them at once.
Plan some_plan() {
  KernelCache kernels(tested_target());
  Plan out = plan_of(R"(
    %a = f32[64,64] input() {kind=batch}
    %b = bf16[64,64] input() {kind=batch}
    %c = f32[64,64] dot_general(%a, %a) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
    %d = f32[64,64] dot_general(%b, %b) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], to=f32}
    %e = f32[64,64] exp(%a)
    %f = f32[64,64] negate(%a)
    %g = f32[64,64] add(%c, %d)
    return %g)",
                     kernels);
  constexpr double kArray = 64 * 64 * 4;
  for (std::size_t c = 0; c < 5; ++c) {
    out.commands[c].flops = c < 2 ? 1e6 : 4096;
    out.commands[c].bytes = 2 * kArray;
  }
  out.commands[3].with_previous = true;
  return out;
}

const WorkCost& of(const CostByClass& costs, WorkClass work) {
  return costs[static_cast<std::size_t>(work)];
}

TEST(PlanCost, SumsBundlesByClassWithTheTimesThatItIsGiven) {
  const Plan plan = some_plan();
  std::vector<std::size_t> asked;
  const CostByClass costs = cost_by_class(plan, [&](const Plan& of_plan, std::size_t first) {
    EXPECT_EQ(&of_plan, &plan);
    asked.push_back(first);
    return static_cast<double>(1 + first);
  });
  EXPECT_THAT(asked, testing::ElementsAre(0, 1, 2, 4, 5)) << "once for each bundle";
  EXPECT_EQ(of(costs, WorkClass::kDot).bundles, 2U);
  EXPECT_EQ(of(costs, WorkClass::kDot).seconds, 1 + 2);
  EXPECT_EQ(of(costs, WorkClass::kDot).flops, 2e6);
  EXPECT_EQ(of(costs, WorkClass::kFused).bundles, 2U);
  EXPECT_EQ(of(costs, WorkClass::kFused).seconds, 3 + 5);
  EXPECT_EQ(of(costs, WorkClass::kFused).flops, 3 * 4096) << "of all commands of a bundle";
  EXPECT_EQ(of(costs, WorkClass::kFused).bytes, 3 * 2 * 64 * 64 * 4);
  EXPECT_EQ(of(costs, WorkClass::kCopy).seconds, 6);
  EXPECT_EQ(of(costs, WorkClass::kAttention).bundles, 0U);
}

TEST(PlanCost, KnowsTheLowerBoundByAMachinesLimits) {
  const Plan plan = some_plan();
  const MachineLimits limits =
      default_limits({"model", "Test CPU", 2, Isa::kAvx512, Bf16Units::kTiles});
  const BundleSeconds seconds = lower_bounds_of_bundles(limits, {1, 1});
  const auto bound = [&](const Work& work) { return lower_bound_seconds(limits, work, {1, 1}); };
  constexpr double kBytes = 2 * 64 * 64 * 4;
  EXPECT_EQ(seconds(plan, 0), bound({WorkKind::kDot, DType::kF32, 1e6, kBytes}));
  EXPECT_EQ(seconds(plan, 1), bound({WorkKind::kDot, DType::kBF16, 1e6, kBytes}));
  EXPECT_LT(seconds(plan, 1), seconds(plan, 0)) << "by what multiplies, not by what it gives";
  EXPECT_EQ(seconds(plan, 2), bound({WorkKind::kElementwise, DType::kF32, 8192, 2 * kBytes}));
  EXPECT_EQ(bundle_work(plan, 5).kind, WorkKind::kCopy);
}

}  // namespace
}  // namespace lockstep
