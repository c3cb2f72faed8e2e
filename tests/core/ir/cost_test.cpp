#include "core/ir/cost.h"

#include <gtest/gtest.h>

#include "core/ir/text.h"

namespace lockstep {
namespace {

/// The cost of the last node.
Cost cost(std::string_view text) {
  const Graph graph = parse(text, "t.ir");
  return cost_of(graph, graph.size() - 1);
}

TEST(CostOf, DotCountsMultiplyAndAdd) {
  const Cost c = cost(R"(%0 = f32[2,8,16] input() %1 = f32[2,16,4] input()
    %2 = f32[2,8,4] dot_general(%0, %1) {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]}
    return)");
  EXPECT_EQ(c.flops, 2.0 * 2 * 8 * 4 * 16);
  EXPECT_EQ(c.bytes_read, 4.0 * (2 * 8 * 16 + 2 * 16 * 4));
  EXPECT_EQ(c.bytes_written, 4.0 * 2 * 8 * 4);
}

TEST(CostOf, ConvolutionAndItsGradientsDoTheSameWork) {
  constexpr std::string_view kSettings =
      "stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=2}";
  const std::string head =
      "%x = f32[3,4,5,5] input() %w = f32[6,2,3,3] input() %y = f32[3,6,5,5] input() ";
  const auto of = [&](const std::string& node) {
    return cost(head + node + std::string(kSettings) + " return").flops;
  };
  const double wanted = 2.0 * (3 * 6 * 5 * 5) * (2 * 3 * 3);
  EXPECT_EQ(of("%r = f32[3,6,5,5] convolution(%x, %w) {"), wanted);
  EXPECT_EQ(of("%r = f32[3,4,5,5] convolution_grad_input(%y, %w) {shape=[3,4,5,5], "), wanted);
  EXPECT_EQ(of("%r = f32[6,2,3,3] convolution_grad_weight(%x, %y) {shape=[6,2,3,3], "), wanted);
}

TEST(CostOf, ReductionsCountTheirOperand) {
  EXPECT_EQ(cost("%0 = f32[8,4] input() %1 = f32[8] reduce_sum(%0) {dims=[1]} return").flops, 32);
}

TEST(CostOf, CausalAttentionDoesHalf) {
  const auto flops = [](const std::string& causal) {
    return cost(
               "%0 = f32[2,6,3,4] input() %1 = f32[2,6,3,4] attention(%0, %0, %0) {scale=1, "
               "dropout=0" +
               causal + "} return")
        .flops;
  };
  EXPECT_EQ(flops(""), 2 * 3 * 6 * 6 * (2 * 2 * 4 + 13.0));
  EXPECT_EQ(flops(", causal=true"), flops("") / 2);
}

TEST(CostOf, FusionSumsItsBodyButMovesOnlyOperandsAndResult) {
  const Cost c = cost(R"(%0 = f32[10] input() %1 = f32[10] fusion(%0) {shape=[10], axis=1} body {
      %0 = f32[10] input() %1 = f32[10] exp(%0) %2 = f32[10] add(%1, %0) return %2 }
    return)");
  EXPECT_EQ(c.flops, 110);
  EXPECT_EQ(c.bytes_read, 40);
  EXPECT_EQ(c.bytes_written, 40);
}

TEST(CostOf, ViewsAreFreeAndGathersReadWhatTheyTake) {
  const Cost view = cost("%0 = f32[4,2] input() %1 = f32[8] reshape(%0) {shape=[8]} return");
  EXPECT_EQ(view.flops + view.bytes_read + view.bytes_written, 0);
  const Cost gather = cost(
      "%0 = f32[1000,2] input() %1 = i32[3] input() %2 = f32[3,2] gather(%0, %1) {axis=0} return");
  EXPECT_EQ(gather.bytes_read, 4 * (6 + 3));
}

TEST(CostOf, GraphIsTheSumOfItsNodes) {
  const Graph graph =
      parse("%0 = f32[4] input() %1 = f32[4] negate(%0) %2 = f32[4] abs(%1) return", "t.ir");
  EXPECT_EQ(cost_of(graph).flops, 8);
}

}  // namespace
}  // namespace lockstep
