#include "core/passes/bundles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ir/text.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

/// Elementwise ops and reductions have tasks, and no scratch memory.
BundleQuery with_tasks(const Graph& graph) {
  return {[&graph](ValueId id) -> std::string {
            if (graph[id].op == Op::kReduceSum) return "reduce";
            return is_elementwise(graph[id].op) || graph[id].op == Op::kFusion ? "elementwise" : "";
          },
          [](ValueId) { return 0; }};
}

/// The ops of each bundle: "exp+exp, add". Inputs, views and group_results are no commands.
std::vector<std::string> bundles_of(const std::string& text) {
  const Graph graph = parse(text, "bundles.ir");
  const CommandBundles bundles = find_bundles(graph, with_tasks(graph));
  std::vector<std::string> out;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Op op = graph[id].op;
    if (op == Op::kInput || op == Op::kReshape || op == Op::kGroupResult) continue;
    if (bundles.first[static_cast<std::size_t>(id)] == id) {
      out.emplace_back(name_of(op));
    } else {
      out.back() += "+" + std::string(name_of(op));
    }
  }
  return out;
}

TEST(CommandBundles, JoinNeighboursThatDoNotDependOnEachOther) {
  EXPECT_THAT(bundles_of(R"(
    %x = f32[8] input() %y = f32[3] input() %a = f32[8] exp(%x) %b = f32[3] negate(%y)
    %c = f32[8] abs(%x) return %a, %b, %c)"),
              ElementsAre("exp+negate+abs"));
}

TEST(CommandBundles, EndBeforeACommandThatReadsOneOfTheirResults) {
  EXPECT_THAT(bundles_of(R"(
    %x = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] abs(%x) %c = f32[8] add(%a, %x)
    %d = f32[8] negate(%x) return %a, %b, %c, %d)"),
              ElementsAre("exp+abs", "add+negate"));
}

TEST(CommandBundles, EndBeforeACommandThatReadsAViewOrASecondResult) {
  EXPECT_THAT(bundles_of(R"(
    %x = f32[8] input() %a = f32[8] exp(%x) %v = f32[4,2] reshape(%a) {shape=[4,2]}
    %c = f32[4,2] negate(%v) return %c)"),
              ElementsAre("exp", "negate"));
  EXPECT_THAT(bundles_of(R"(
    %x = f32[8] input()
    %g = f32[8] fusion(%x) {shape=[8], axis=1} body {
      %x = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] abs(%x) return %a, %b }
    %h = f32[8] group_result(%g) {index=1} %c = f32[8] negate(%x) %d = f32[8] negate(%h)
    return %g, %c, %d)"),
              ElementsAre("fusion+negate", "negate"));
}

TEST(CommandBundles, AreOfOneKindOfWork) {
  EXPECT_THAT(bundles_of(R"(
    %x = f32[8] input() %a = f32[8] exp(%x) %s = f32[] reduce_sum(%x) {dims=[0]}
    %t = f32[] reduce_sum(%x) {dims=[0]} %r = f32[8] transpose(%x) {dims=[0]} %b = f32[8] abs(%x)
    return %a, %s, %t, %r, %b)"),
              ElementsAre("exp", "reduce_sum+reduce_sum", "transpose", "abs"));
}

TEST(CommandBundles, DoNotReadWhatTheyReplace) {
  // abs makes the next %x, into whose memory it can be written if nobody reads the old one then.
  EXPECT_THAT(bundles_of(R"(
    %x = f32[8] input() %y = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] negate(%y)
    %c = f32[8] abs(%y) return %a, %b, %c update 2 -> %x)"),
              ElementsAre("exp+negate", "abs"));
  EXPECT_THAT(bundles_of(R"(
    %x = f32[8] input() %y = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] negate(%y)
    return %a, %b update 0 -> %x update 1 -> %y)"),
              ElementsAre("exp+negate"));
}

TEST(CommandBundles, KeepLittleAliveThatWouldHaveBeenFree) {
  // 192 KiB each, in the arena: the first two are outputs, with memory of their own.
  EXPECT_THAT(bundles_of(R"(
    %x = f32[49152] input() %a = f32[49152] exp(%x) %b = f32[49152] abs(%x)
    %c = f32[49152] negate(%x) %d = f32[49152] sqrt(%x) %e = f32[49152] add(%c, %d)
    return %a, %b, %e)"),
              ElementsAre("exp+abs+negate", "sqrt", "add"));
}

}  // namespace
}  // namespace lockstep
