#include "core/passes/fuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "core/ir/structure.h"
#include "tests/core/passes/pass_text.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep {
namespace {

Graph quiet_fuse(Graph graph, const Target& target) {
  return fuse(std::move(graph), target, Log::null());
}

std::vector<const Node*> groups_of(const Graph& graph) {
  std::vector<const Node*> out;
  for (const Node& node : graph.nodes)
    if (node.op == Op::kFusion) out.push_back(&node);
  return out;
}

TEST(Fuse, JoinsAChain) {
  EXPECT_BECOMES(quiet_fuse, R"(
    %x = f32[8] input() %y = f32[8] input()
    %a = f32[8] exp(%x) %b = f32[8] multiply(%a, %y) %c = f32[8] negate(%b) return %c)",
                 R"(
    %x = f32[8] input() %y = f32[8] input()
    %g = f32[8] fusion(%x, %y) {shape=[8], axis=1} body {
      %p = f32[8] input() %a = f32[8] exp(%p) %q = f32[8] input() %b = f32[8] multiply(%a, %q)
      %c = f32[8] negate(%b) return %c }
    return %g)");
}

TEST(Fuse, MakesAGroupOfOne) {
  EXPECT_BECOMES(quiet_fuse, "%x = f32[8] input() %a = bf16[8] convert(%x) {to=bf16} return %a", R"(
    %x = f32[8] input()
    %g = bf16[8] fusion(%x) {shape=[8], axis=1} body {
      %p = f32[8] input() %a = bf16[8] convert(%p) {to=bf16} return %a }
    return %g)");
}

TEST(Fuse, ReadsBroadcastOperandsAndWritesScalarConstantsIntoTheGroup) {
  EXPECT_BECOMES(quiet_fuse, R"(
    %x = f32[4,8] input() %bias = f32[8] input() %two = f32[] constant() {value=2}
    %B = f32[4,8] broadcast(%bias) {shape=[4,8], dims=[1]} %a = f32[4,8] add(%x, %B)
    %T = f32[4,8] broadcast(%two) {shape=[4,8], dims=[]} %b = f32[4,8] multiply(%a, %T) return %b)",
                 R"(
    %x = f32[4,8] input() %bias = f32[8] input()
    %g = f32[4,8] fusion(%x, %bias) {shape=[4,8], axis=2} body {
      %x = f32[4,8] input() %bias = f32[8] input()
      %B = f32[4,8] broadcast(%bias) {shape=[4,8], dims=[1]} %a = f32[4,8] add(%x, %B)
      %two = f32[] constant() {value=2}
      %T = f32[4,8] broadcast(%two) {shape=[4,8], dims=[]} %b = f32[4,8] multiply(%a, %T)
      return %b }
    return %g)");
}

TEST(Fuse, ReadsSlicesAndWritesConcatenationsInPlace) {
  EXPECT_BECOMES(quiet_fuse, R"(
    %x = f32[4,8] input() %y = f32[4,4] input()
    %a = f32[4,4] slice(%x) {start=[0,0], limit=[4,4], stride=[1,1]}
    %b = f32[4,4] slice(%x) {start=[0,4], limit=[4,8], stride=[1,1]}
    %p = f32[4,4] multiply(%a, %y) %q = f32[4,4] add(%b, %y)
    %c = f32[4,8] concatenate(%p, %q) {axis=1} return %c)",
                 R"(
    %x = f32[4,8] input() %y = f32[4,4] input()
    %g = f32[4,8] fusion(%x, %y) {shape=[4,4], axis=2} body {
      %x = f32[4,8] input()
      %a = f32[4,4] slice(%x) {start=[0,0], limit=[4,4], stride=[1,1]}
      %y = f32[4,4] input() %p = f32[4,4] multiply(%a, %y)
      %b = f32[4,4] slice(%x) {start=[0,4], limit=[4,8], stride=[1,1]}
      %q = f32[4,4] add(%b, %y)
      %c = f32[4,8] concatenate(%p, %q) {axis=1} return %c }
    return %g)");
}

TEST(Fuse, LeavesSlicesAndConcatenationsThatAreNotWorthIt) {
  for (const char* text : {
           // Nothing is computed.
           "%x = f32[4,8] input() %a = f32[4,4] slice(%x) {start=[0,0], limit=[4,4], stride=[1,1]} "
           "return %a",
           "%x = f32[4,8] input() %c = f32[4,16] concatenate(%x, %x) {axis=1} return %c",
       }) {
    const Graph graph = quiet_fuse(parse(text, "t.ir"), {});
    EXPECT_TRUE(structurally_equal(graph, parse(text, "t.ir"))) << print(graph);
  }
  const auto slices_left = [](const std::string& sizes, const std::string& slice) {
    const Graph graph = quiet_fuse(parse("%x = f32" + sizes + " input() %a = f32[4,4] slice(%x) " +
                                             slice + " %b = f32[4,4] exp(%a) return %b",
                                         "t.ir"),
                                   {});
    return std::ranges::count(graph.nodes, Op::kSlice, &Node::op);
  };
  EXPECT_EQ(slices_left("[4,16]", "{start=[0,12], limit=[4,16], stride=[1,1]}"), 0);
  EXPECT_EQ(slices_left("[4,17]", "{start=[0,12], limit=[4,16], stride=[1,1]}"),
            1);                                                                    // a small part
  EXPECT_EQ(slices_left("[8,4]", "{start=[4,0], limit=[8,4], stride=[1,1]}"), 1);  // a view anyway
  EXPECT_EQ(slices_left("[4,8]", "{start=[0,0], limit=[4,8], stride=[1,2]}"), 1);
}

TEST(Fuse, JoinsReadersOfOneValue) {
  EXPECT_BECOMES(quiet_fuse, R"(
    %x = f32[8] input() %a = f32[8] exp(%x)
    %b = f32[8] negate(%a) %c = f32[8] abs(%a) return %b, %c)",
                 R"(
    %x = f32[8] input()
    %g = f32[8] fusion(%x) {shape=[8], axis=1} body {
      %x = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] negate(%a) %c = f32[8] abs(%a)
      return %b, %c }
    %c = f32[8] group_result(%g) {index=1}
    return %g, %c)");
}

TEST(Fuse, AbsorbsAValueUsedTwiceInOneGroup) {
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[8] input() %a = f32[8] exp(%x)
    %b = f32[8] negate(%a) %c = f32[8] multiply(%a, %b) return %c)",
                                       "t.ir"),
                                 Target{});
  ASSERT_EQ(groups_of(graph).size(), 1U);
  EXPECT_EQ(groups_of(graph)[0]->body->size(), 4);
}

TEST(Fuse, ReturnsWhatIsNeededOutsideOfItsGroup) {
  EXPECT_BECOMES(quiet_fuse, R"(
    %x = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] negate(%a) return %a, %b)",
                 R"(
    %x = f32[8] input()
    %g = f32[8] fusion(%x) {shape=[8], axis=1} body {
      %x = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] negate(%a) return %a, %b }
    %b = f32[8] group_result(%g) {index=1}
    return %g, %b)");
}

TEST(Fuse, RecomputesWhatIsCheap) {
  // The mask is used on both sides of a barrier and computed in both groups.
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[8] input() %y = f32[8] input() %s = i32[] input()
    %i = i32[8] iota() {shape=[8], axis=0, to=i32} %S = i32[8] broadcast(%s) {shape=[8], dims=[]}
    %m = bool[8] less(%i, %S)
    %a = f32[8] select(%m, %x, %y) %A = f32[8] optimization_barrier(%a)
    %b = f32[8] select(%m, %y, %A) return %b)",
                                       "t.ir"),
                                 Target{});
  const auto groups = groups_of(graph);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_TRUE(structurally_equal(*groups[0]->body, *groups[1]->body));
}

/// A value of `expression`, used by a group and, behind a barrier, by another.
std::vector<const Node*> groups_around_a_barrier(const std::string& expression, Graph& graph) {
  graph = quiet_fuse(parse("%x = f32[8] input() %y = f32[8] input() "
                           "%bx = f32[8] optimization_barrier(%x) "
                           "%by = f32[8] optimization_barrier(%y) " +
                               expression +
                               " %1 = f32[8] exp(%a) %w = f32[8] optimization_barrier(%1) "
                               "%2 = f32[8] divide(%w, %a) return %2",
                           "t.ir"),
                     Target{});
  return groups_of(graph);
}

TEST(Fuse, RecomputesShortExpressionsOfOneValue) {
  Graph graph;
  const auto groups = groups_around_a_barrier(
      "%t = f32[8] tanh(%bx) %s = f32[8] multiply(%t, %bx) %a = f32[8] add(%s, %bx)", graph);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0]->body->outputs.size(), 1U);
  EXPECT_EQ(groups[1]->operands.size(), 2U);
}

TEST(Fuse, KeepsWhatIsExpensiveToRecompute) {
  Graph graph;
  const auto groups =
      groups_around_a_barrier("%t = f32[8] tanh(%bx) %a = f32[8] power(%t, %bx)", graph);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0]->body->outputs.size(), 2U);
}

TEST(Fuse, RecomputesFromSeveralPlacesOnlyIfTheyAreInputs) {
  Graph graph;
  EXPECT_EQ(groups_around_a_barrier("%a = f32[8] add(%x, %y)", graph)[0]->body->outputs.size(), 1U);
  EXPECT_EQ(groups_around_a_barrier("%a = f32[8] add(%bx, %by)", graph)[0]->body->outputs.size(),
            2U);
}

// As the gradient behind a relu in bf16: two bf16 are read instead of an f32 that is written first.
TEST(Fuse, RecomputesFromSeveralPlacesThatHaveNoMoreBytes) {
  Graph graph;
  const std::string narrow =
      "%n = bf16[8] input() %m = bf16[8] input() %bn = bf16[8] optimization_barrier(%n) "
      "%bm = bf16[8] optimization_barrier(%m) %cn = f32[8] convert(%bn) {to=f32} "
      "%cm = f32[8] convert(%bm) {to=f32} ";
  EXPECT_EQ(
      groups_around_a_barrier(narrow + "%a = f32[8] add(%cn, %cm)", graph)[0]->body->outputs.size(),
      1U);
  EXPECT_EQ(groups_around_a_barrier(narrow + "%t = f32[8] add(%cn, %bx) %a = f32[8] add(%t, %cm)",
                                    graph)[0]
                ->body->outputs.size(),
            2U);
}

TEST(Fuse, UpdatesAParameterAndItsMomentsInOneGroup) {
  const Graph graph = quiet_fuse(parse(R"(
    %p = f32[8] input() %m = f32[8] input() %v = f32[8] input() %g = f32[8] input()
    %lr = f32[] input() %b = f32[] constant() {value=0.9}
    %B = f32[8] broadcast(%b) {shape=[8], dims=[]} %LR = f32[8] broadcast(%lr) {shape=[8], dims=[]}
    %mb = f32[8] multiply(%m, %B) %m1 = f32[8] add(%mb, %g)
    %gg = f32[8] multiply(%g, %g) %vb = f32[8] multiply(%v, %B) %v1 = f32[8] add(%vb, %gg)
    %ok = bool[8] is_finite(%LR) %root = f32[8] sqrt(%v1) %step = f32[8] divide(%m1, %root)
    %d = f32[8] multiply(%step, %LR) %p1 = f32[8] subtract(%p, %d)
    %mo = f32[8] select(%ok, %m1, %m) %vo = f32[8] select(%ok, %v1, %v)
    return %p1, %mo, %vo update 0 -> %p update 1 -> %m update 2 -> %v)",
                                       "t.ir"),
                                 Target{});
  const auto groups = groups_of(graph);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0]->body->outputs.size(), 3U);
  EXPECT_EQ(groups[0]->operands.size(), 5U);
}

TEST(Fuse, MaterializesABroadcastForADot) {
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[4,4] input() %v = f32[4] input() %V = f32[4,4] broadcast(%v) {shape=[4,4], dims=[1]}
    %d = f32[4,4] dot_general(%x, %V) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
    return %d)",
                                       "t.ir"),
                                 Target{});
  ASSERT_EQ(groups_of(graph).size(), 1U);
  EXPECT_EQ(groups_of(graph)[0]->body->nodes.back().op, Op::kBroadcast);
}

TEST(Fuse, EndsAtBarriers) {
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[4,8] input() %a = f32[4,8] exp(%x)
    %b = f32[4,8] optimization_barrier(%a) %n = f32[4,8] negate(%b) return %n)",
                                       "t.ir"),
                                 Target{});
  EXPECT_EQ(groups_of(graph).size(), 2U);
}

TEST(Fuse, ComputesASoftmaxInOneGroup) {
  EXPECT_BECOMES(quiet_fuse, R"(
    %x = f32[2,4,8] input() %m = f32[2,4] reduce_max(%x) {dims=[2]}
    %M = f32[2,4,8] broadcast(%m) {shape=[2,4,8], dims=[0,1]} %c = f32[2,4,8] subtract(%x, %M)
    %e = f32[2,4,8] exp(%c) %s = f32[2,4] reduce_sum(%e) {dims=[2]}
    %S = f32[2,4,8] broadcast(%s) {shape=[2,4,8], dims=[0,1]} %y = f32[2,4,8] divide(%e, %S)
    return %y)",
                 R"(
    %x = f32[2,4,8] input()
    %g = f32[2,4,8] fusion(%x) {shape=[2,4,8], axis=2} body {
      %x = f32[2,4,8] input() %m = f32[2,4] reduce_max(%x) {dims=[2]}
      %M = f32[2,4,8] broadcast(%m) {shape=[2,4,8], dims=[0,1]} %c = f32[2,4,8] subtract(%x, %M)
      %e = f32[2,4,8] exp(%c) %s = f32[2,4] reduce_sum(%e) {dims=[2]}
      %S = f32[2,4,8] broadcast(%s) {shape=[2,4,8], dims=[0,1]} %y = f32[2,4,8] divide(%e, %S)
      return %y }
    return %g)");
}

TEST(Fuse, LeavesALoneReductionAsItIs) {
  EXPECT_STAYS(quiet_fuse, "%x = f32[4,8] input() %s = f32[4] reduce_sum(%x) {dims=[1]} return %s");
}

TEST(Fuse, MakesAGroupOfAReductionOfWhatIsCheap) {
  const Graph graph = quiet_fuse(
      parse("%i = i32[4,8] iota() {shape=[4,8], axis=1, to=i32} %m = i32[4] arg_min(%i) {axis=1} "
            "return %m",
            "t.ir"),
      Target{});
  ASSERT_EQ(groups_of(graph).size(), 1U);
  EXPECT_TRUE(groups_of(graph)[0]->operands.empty());
}

TEST(Fuse, SumsColumnsInTheGroupThatMakesThem) {
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[2,4,8] input() %y = f32[2,4,8] input() %d = f32[2,4,8] multiply(%x, %y)
    %b = f32[8] reduce_sum(%d) {dims=[0,1]} return %d, %b)",
                                       "t.ir"),
                                 Target{});
  const auto groups = groups_of(graph);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0]->attrs.integer(Attr::kAxis), 2);
  EXPECT_EQ(groups[0]->body->outputs.size(), 2U);
}

TEST(Fuse, KeepsTheReadersOfASumOverRowsApart) {
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[4,8] input() %d = f32[4,8] exp(%x) %b = f32[8] reduce_sum(%d) {dims=[0]}
    %t = f32[] reduce_sum(%d) {dims=[0,1]} %e = f32[8] exp(%b) %u = f32[] exp(%t)
    return %d, %e, %u)",
                                       "t.ir"),
                                 Target{});
  const auto groups = groups_of(graph);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0]->body->outputs.size(), 3U);
}

TEST(Fuse, KeepsReductionsOfUnlikeRowsApart) {
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[2,4,8] input() %e = f32[2,4,8] power(%x, %x) %a = f32[2,4] reduce_sum(%e) {dims=[2]}
    %b = f32[2] reduce_max(%e) {dims=[1,2]} return %a, %b)",
                                       "t.ir"),
                                 Target{});
  EXPECT_EQ(groups_of(graph).size(), 1U);
  EXPECT_EQ(graph[graph.outputs[0]].op, Op::kReduceSum);
}

TEST(Fuse, DoesNotJoinWhatOtherWorkStandsBetween) {
  // The negated value reads the reduction in the middle, and so the exponential through it.
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[4,4] input() %e = f32[4,4] exp(%x)
    %d = f32[4,4] dot_general(%e, %e) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]}
    %s = f32[4,4] add(%e, %d) return %s)",
                                       "t.ir"),
                                 Target{});
  EXPECT_EQ(groups_of(graph).size(), 2U);
}

TEST(Fuse, JoinsReadersOfOneInput) {
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] abs(%x) return %a, %b)",
                                       "t.ir"),
                                 Target{});
  EXPECT_EQ(groups_of(graph).size(), 1U);
}

TEST(Fuse, KeepsGroupsOfUnlikeShapesApart) {
  // The source of a broadcast has another shape than the group and is made before it.
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[4,8] input() %v = f32[8] input() %e = f32[8] exp(%v)
    %E = f32[4,8] broadcast(%e) {shape=[4,8], dims=[1]} %a = f32[4,8] add(%x, %E) return %a)",
                                       "t.ir"),
                                 Target{});
  EXPECT_EQ(groups_of(graph).size(), 2U);
}

TEST(Fuse, DrawsRandomBitsInTheGroupFromKeysInMemory) {
  EXPECT_BECOMES(quiet_fuse, R"(
    %k = i64[] input() %one = i64[] constant() {value=1} %k1 = i64[] add(%k, %one)
    %r = i32[8] random_bits(%k, %k1, %one) {shape=[8], stream=3} %f = f32[8] convert(%r) {to=f32}
    return %f)",
                 R"(
    %k = i64[] input()
    %k1 = i64[] fusion(%k) {shape=[], axis=0} body {
      %k = i64[] input() %one = i64[] constant() {value=1} %s = i64[] add(%k, %one) return %s }
    %g = f32[8] fusion(%k, %k1) {shape=[8], axis=1} body {
      %k = i64[] input() %k1 = i64[] input() %one = i64[] constant() {value=1}
      %r = i32[8] random_bits(%k, %k1, %one) {shape=[8], stream=3} %f = f32[8] convert(%r) {to=f32}
      return %f }
    return %g)");
}

TEST(Fuse, GivesEqualLayersEqualBodies) {
  // The operands of the second layer are numbered the other way round.
  const Graph graph = quiet_fuse(parse(R"(
    %x = f32[8] input() %w0 = f32[8] input() %w1 = f32[8] input()
    %a = f32[8] exp(%x) %b = f32[8] multiply(%a, %w0)
    %bb = f32[8] optimization_barrier(%b)
    %d = f32[8] exp(%bb) %e = f32[8] multiply(%d, %w1) return %e)",
                                       "t.ir"),
                                 Target{});
  const auto groups = groups_of(graph);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_TRUE(structurally_equal(*groups[0]->body, *groups[1]->body));
}

TEST(Fuse, BoundsTheSizeOfGroups) {
  std::string text = "%v0 = f32[8] input()";
  for (int i = 1; i <= 1000; ++i)
    text += " %v" + std::to_string(i) + " = f32[8] exp(%v" + std::to_string(i - 1) + ")";
  const Graph graph = quiet_fuse(parse(text + " return %v1000", "t.ir"), Target{});
  const auto groups = groups_of(graph);
  EXPECT_GT(groups.size(), 1U);
  for (const Node* group : groups) EXPECT_LE(group->body->size(), 200);
}

TEST(Fuse, BoundsTheOperandsOfGroups) {
  std::string text = "%s = f32[8] input()";
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    const std::string sum = i == 0 ? "s" : "s" + std::to_string(i - 1);
    text += " %x" + n + " = f32[8] input() %s" + n + " = f32[8] add(%" + sum + ", %x" + n + ")";
  }
  const Graph graph = quiet_fuse(parse(text + " return %s99", "t.ir"), Target{});
  const auto groups = groups_of(graph);
  EXPECT_EQ(groups.size(), 4U);
  for (const Node* group : groups) EXPECT_LE(group->operands.size(), 32U);
}

TEST(Fuse, TellsWhyAValueIsNotJoinedToItsReader) {
  const std::string file = ::testing::TempDir() + "fuse_test.log";
  std::remove(file.c_str());
  {
    Log log({.console = false, .file = file, .debug = 3});
    fuse(parse("%x = f32[8] input() %a = f32[8] exp(%x) {line=\"m.cpp:4\"} "
               "%b = f32[4,8] broadcast(%a) {shape=[4,8], dims=[1]} return %b",
               "t.ir"),
         Target{}, log);
  }
  const std::string text = contents_of(file);
  EXPECT_THAT(text,
              ::testing::HasSubstr(
                  "exp is not joined to its reader %2 broadcast: it is read from memory; m.cpp:4"));
}

}  // namespace
}  // namespace lockstep
