#include "core/ir/structure.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/ir/text.h"
#include "tests/graphs/random_graph.h"

namespace lockstep {
namespace {

Graph graph_of(std::string_view text) {
  return parse(text, "t.ir");
}

bool same(std::string_view a, std::string_view b) {
  const Graph x = graph_of(a);
  const Graph y = graph_of(b);
  const bool equal = structurally_equal(x, y);
  EXPECT_EQ(equal, structural_hash(x) == structural_hash(y));
  return equal;
}

TEST(Structure, IgnoresLabels) {
  EXPECT_TRUE(
      same("%0 = f32[2] input() {kind=batch, name=\"a\", line=\"x.cpp:1\", scope=\"h\"} return %0",
           "%0 = f32[2] input() {kind=batch, name=\"b\"} return %0"));
  Graph a;
  a.add_input({DType::kF32, Shape{Dim(2, "batch")}}, InputKind::kState, "x");
  Graph b;
  b.add_input({DType::kF32, Shape{2}}, InputKind::kState, "x");
  EXPECT_TRUE(structurally_equal(a, b));
  EXPECT_EQ(structural_hash(a), structural_hash(b));
}

TEST(Structure, SeesEverythingElse) {
  constexpr std::string_view x = "%0 = f32[2] input() %1 = f32[2] input() ";
  const auto with = [&](std::string_view rest) { return std::string(x) + std::string(rest); };
  const std::string base = with("%2 = f32[2] add(%0, %1) return %2");
  EXPECT_TRUE(same(base, base));
  EXPECT_FALSE(same(base, with("%2 = f32[2] subtract(%0, %1) return %2")));
  EXPECT_FALSE(same(base, with("%2 = f32[2] add(%1, %0) return %2")));
  EXPECT_FALSE(same(base, with("%2 = f32[2] add(%0, %1) return %2, %2")));
  EXPECT_FALSE(same(base, with("%2 = f32[2] add(%0, %1) return %0")));
  EXPECT_FALSE(same(base, with("%2 = f32[2] add(%0, %1) return %2 update 0 -> %0")));
  EXPECT_FALSE(same(base, with("%2 = f32[2] add(%0, %1) inputs %1, %0 return %2")));
  EXPECT_FALSE(
      same(base, with("%2 = f32[2] add(%0, %1) %3 = f32[] constant() {value=1} return %2")));
  EXPECT_FALSE(
      same("%0 = f32[2] input() {kind=batch} return", "%0 = f32[2] input() {kind=state} return"));
  EXPECT_FALSE(same("%0 = f32[2] input() return", "%0 = f32[3] input() return"));
  EXPECT_FALSE(same("%0 = f32[2] input() return", "%0 = i32[2] input() return"));
  EXPECT_FALSE(
      same("%0 = f32[] constant() {value=0} return", "%0 = f32[] constant() {value=-0} return"));
  EXPECT_FALSE(same("%0 = f32[4] iota() {shape=[4], axis=0, to=f32} return",
                    "%0 = i32[4] iota() {shape=[4], axis=0, to=i32} return"));
}

TEST(Structure, LooksIntoBodies) {
  const auto call = [](std::string_view op) {
    return "%0 = f32[2] input() %1 = f32[2] call(%0) body { %0 = f32[2] input() %1 = f32[2] " +
           std::string(op) + "(%0) return %1 } return %1";
  };
  EXPECT_TRUE(same(call("exp"), call("exp")));
  EXPECT_FALSE(same(call("exp"), call("log")));
}

TEST(Structure, NodeHashesDependOnWhatTheNodeComputes) {
  const auto a = node_hashes(
      graph_of("%0 = f32[2] input() %1 = f32[2] exp(%0) %2 = f32[2] negate(%1) return %2"));
  const auto b =
      node_hashes(graph_of("%0 = f32[2] input() %9 = f32[2] tanh(%0) %1 = f32[2] exp(%0) %2 = "
                           "f32[2] negate(%9) return"));
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(a[1], b[2]);
  EXPECT_NE(a[2], b[3]);
}

TEST(Structure, InputsAreNeverTheSameComputation) {
  const Graph graph = graph_of("%0 = f32[] input() %1 = f32[] constant() {value=1} return");
  EXPECT_FALSE(same_computation(graph[0], graph[0]));
  EXPECT_TRUE(same_computation(graph[1], graph[1]));
}

TEST(Structure, EqualGraphsHaveEqualHashes) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const Graph a = testing::random_graph(seed, 25).graph;
    const Graph b = testing::random_graph(*rc::gen::element(seed, seed + 1), 25).graph;
    RC_ASSERT(structurally_equal(a, b) == (structural_hash(a) == structural_hash(b)));
  }));
}

}  // namespace
}  // namespace lockstep
