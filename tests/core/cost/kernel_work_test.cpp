#include "core/cost/kernel_work.h"

#include <gmock/gmock.h>

#include "core/ir/cost.h"
#include "core/ir/text.h"

namespace lockstep {
namespace {

using testing::SizeIs;

constexpr const char* kDots = R"(
  %0 = f32[8,16] input() {kind=batch, name="x"}
  %1 = f32[16,32] input() {kind=parameter, name="w"}
  %2 = f32[8,32] dot_general(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], line="m.cpp:3", scope="a"}
  %3 = f32[8,32] dot_general(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], line="m.cpp:4", scope="b"}
  %4 = f32[8,32] add(%2, %3) {line="m.cpp:5"}
  return %4
)";

TEST(HeavyKernels, AreCountedBySize) {
  const std::vector<KernelWork> heavy = heavy_kernels(parse(kDots, "t.ir"));
  ASSERT_THAT(heavy, SizeIs(1));
  EXPECT_EQ(heavy[0].kind, KernelKind::kDot);
  EXPECT_EQ(heavy[0].count, 2);
  EXPECT_EQ(heavy[0].batch, 1);
  EXPECT_EQ(heavy[0].m, 8);
  EXPECT_EQ(heavy[0].n, 32);
  EXPECT_EQ(heavy[0].k, 16);
  EXPECT_EQ(heavy[0].flops, 2.0 * 8 * 32 * 16);
  EXPECT_EQ(heavy[0].bytes, 4.0 * (8 * 16 + 16 * 32 + 8 * 32));
}

TEST(HeavyKernels, AreThoseOfTheirNodes) {
  const Graph graph = parse(kDots, "t.ir");
  KernelWork both = heavy_kernel(graph, static_cast<ValueId>(2));
  EXPECT_EQ(both, heavy_kernel(graph, static_cast<ValueId>(3)));
  both.count = 2;
  EXPECT_EQ(heavy_kernels(graph)[0], both);
}

/// A convolution and its gradients do the same arithmetic, as products of different sizes.
TEST(HeavyKernels, ConvolutionsAreProductsOfTheirWindows) {
  const std::vector<KernelWork> heavy = heavy_kernels(parse(R"(
    %x = f32[3,4,10,10] input() {kind=batch, name="x"}
    %w = f32[6,2,3,3] input() {kind=parameter, name="w"}
    %dy = f32[3,6,5,5] input() {kind=batch, name="dy"}
    %y = f32[3,6,5,5] convolution(%x, %w) {stride=[2,2], padding=[1,0,1,0], dilation=[1,1], groups=2, line="m.cpp:1"}
    %dx = f32[3,4,10,10] convolution_grad_input(%dy, %w) {shape=[3,4,10,10], stride=[2,2], padding=[1,0,1,0], dilation=[1,1], groups=2, line="m.cpp:2"}
    %dw = f32[6,2,3,3] convolution_grad_weight(%x, %dy) {shape=[6,2,3,3], stride=[2,2], padding=[1,0,1,0], dilation=[1,1], groups=2, line="m.cpp:3"}
    return %y, %dx, %dw)",
                                                            "t.ir"));
  ASSERT_THAT(heavy, SizeIs(3));
  const double flops = 2.0 * (3 * 6 * 5 * 5) * (2 * 3 * 3);
  for (const KernelWork& each : heavy) {
    EXPECT_EQ(each.kind, KernelKind::kConvolution);
    EXPECT_EQ(each.batch, 2) << "groups";
    EXPECT_EQ(each.window, 9);
    EXPECT_EQ(each.flops, flops);
    const double product = 2.0 * static_cast<double>(each.batch * each.m * each.n * each.k);
    EXPECT_NEAR(product, flops, 0.2 * flops) << "k of a gradient is rounded";
  }
}

TEST(HeavyKernels, StopAtTheAllReduces) {
  const Graph step = parse(R"(
    %0 = f32[8,8] input() {kind=batch, name="x"}
    %1 = f32[8,8] dot_general(%0, %0) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], line="m.cpp:3"}
    %2 = f32[8,8] all_reduce(%1)
    %3 = f32[8,8] dot_general(%2, %2) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], line="m.cpp:4"}
    return %3)",
                           "t.ir");
  ASSERT_THAT(heavy_kernels(step), SizeIs(1));
  EXPECT_EQ(heavy_kernels(step)[0].count, 1);
}

/// Two calls: what is between them is written by one and read by the other; what is within one
/// is neither. Views and broadcasts move nothing.
TEST(CallTraffic, IsWhatGoesInAndOutOfCalls) {
  const Graph step = parse(R"(
    %0 = f32[8,16] input() {kind=batch, name="x"}
    %1 = f32[16] input() {kind=parameter, name="w"}
    %2 = f32[8,16] exp(%0) {line="m.cpp:1", scope="a"}
    %3 = f32[8,16] negate(%2) {line="m.cpp:1", scope="a"}
    %4 = f32[8,16] broadcast(%1) {shape=[8,16], dims=[1], line="m.cpp:1", scope="b"}
    %5 = f32[8,16] multiply(%3, %4) {line="m.cpp:1", scope="b"}
    %6 = f32[128] reshape(%5) {shape=[128], line="m.cpp:2"}
    return %6)",
                           "t.ir");
  const Traffic calls = call_traffic(step);
  const double values = 4.0 * 8 * 16;
  EXPECT_EQ(calls.kernels, 2);
  EXPECT_EQ(calls.bytes, 2 * values + (values + 4 * 16 + values));
}

TEST(CallTraffic, LeavesOutTheCallOfADot) {
  const Graph step = parse(kDots, "t.ir");
  EXPECT_EQ(call_traffic(step).kernels, 1) << "the addition";
  EXPECT_EQ(call_traffic(step).bytes, 3 * 4.0 * 8 * 32);
}

TEST(FusedTraffic, CountsEachGroupOnce) {
  const Traffic traffic = fused_traffic(parse(R"(%0 = f32[10] input()
    %1 = f32[10] fusion(%0) {shape=[10], axis=1} body {
      %0 = f32[10] input() %1 = f32[10] exp(%0) %2 = f32[10] add(%1, %0) return %2 }
    return %1)",
                                              "t.ir"));
  EXPECT_EQ(traffic.kernels, 1);
  EXPECT_EQ(traffic.bytes, 80);
}

}  // namespace
}  // namespace lockstep
