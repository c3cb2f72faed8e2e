#include "core/kernels/kernel_cache.h"

#include "tests/core/kernels/kernel_case.h"

namespace lockstep::cpu_test {
namespace {

std::shared_ptr<const Kernel> reverse_kernel(KernelCache& kernels, std::int64_t rows) {
  Graph graph;
  const Type type{DType::kF32, Shape{rows, 3}};
  const ValueId x = graph.add_input(type, InputKind::kBatch, "x");
  Attrs attrs;
  attrs.set(Attr::kDims, {1, 0});
  return kernels.get(graph[graph.add(Op::kTranspose, {x}, std::move(attrs))], {&type, 1});
}

TEST(KernelCache, SharesWhatIsHeldAndForgetsWhatNobodyHolds) {
  KernelCache kernels(tested_target());
  const auto held = reverse_kernel(kernels, 1);
  for (std::int64_t rows = 2; rows <= 2000; ++rows) (void)reverse_kernel(kernels, rows);
  EXPECT_EQ(kernels.built(), 2000);
  EXPECT_EQ(reverse_kernel(kernels, 1), held);
  EXPECT_EQ(kernels.shared(), 1);
  (void)reverse_kernel(kernels, 2);
  EXPECT_EQ(kernels.built(), 2001) << "the second was forgotten";
}

TEST(KernelCache, KeepsAllThatAreHeld) {
  KernelCache kernels(tested_target());
  std::vector<std::shared_ptr<const Kernel>> held;
  for (std::int64_t rows = 1; rows <= 1000; ++rows) held.push_back(reverse_kernel(kernels, rows));
  for (std::int64_t rows = 1; rows <= 1000; ++rows)
    EXPECT_EQ(reverse_kernel(kernels, rows), held[static_cast<std::size_t>(rows) - 1]);
  EXPECT_EQ(kernels.built(), 1000);
}

TEST(KernelCache, TellsFactsOfWhatItHasNotBuilt) {
  KernelCache kernels(tested_target());
  Graph graph;
  const ValueId x = graph.add_input({DType::kF32, Shape{5, 3}}, InputKind::kBatch, "x");
  const ValueId y = graph.add(Op::kExp, {x});
  const std::shared_ptr<const KernelFacts> facts = kernels.facts(graph, y);
  EXPECT_EQ(facts->work(), WorkClass::kFused);
  EXPECT_TRUE(facts->joins_bundles());
  EXPECT_TRUE(facts->may_alias(0, 0));
  EXPECT_EQ(kernels.built(), 0);
  EXPECT_EQ(kernels.facts(graph, y), facts);
  EXPECT_EQ(kernels.get(graph, y), facts) << "planned once";
  EXPECT_EQ(kernels.built(), 1);
  EXPECT_EQ(kernels.get(graph, y), facts);
  EXPECT_EQ(kernels.built(), 1);
}

}  // namespace
}  // namespace lockstep::cpu_test
