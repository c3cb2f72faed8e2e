#include "core/passes/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/core/passes/pass_text.h"
#include "tests/graphs/random_graph.h"

namespace lockstep {
namespace {

TEST(Schedule, MovesWhatReadsOnlyInputsDownToItsUser) {
  EXPECT_BECOMES(schedule, R"(
    %x = f32[8,8] input() %w = f32[8,8] input()
    %early = f32[8,8] exp(%w) %a = f32[8,8] exp(%x) %b = f32[8] reduce_sum(%a) {dims=[1]}
    %c = f32[8] reduce_sum(%early) {dims=[1]} %d = f32[8] add(%b, %c) return %d)",
                 R"(
    %x = f32[8,8] input() %w = f32[8,8] input()
    %a = f32[8,8] exp(%x) %b = f32[8] reduce_sum(%a) {dims=[1]}
    %early = f32[8,8] exp(%w) %c = f32[8] reduce_sum(%early) {dims=[1]}
    %d = f32[8] add(%b, %c) return %d)");
}

TEST(Schedule, MovesGradientsUpToWhereTheyAreReady) {
  EXPECT_BECOMES(schedule, R"(
    %x = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] exp(%a) %c = f32[8] exp(%b)
    %grad = f32[8] negate(%a) return %c, %grad)",
                 R"(
    %x = f32[8] input() %a = f32[8] exp(%x) %grad = f32[8] negate(%a) %b = f32[8] exp(%a)
    %c = f32[8] exp(%b) return %c, %grad)");
}

TEST(Schedule, PutsInputsAndConstantsFirst) {
  EXPECT_BECOMES(schedule, R"(
    %x = f32[] input() %a = f32[] exp(%x) %y = f32[] input() %c = f32[] constant() {value=3}
    %b = f32[] add(%y, %c) inputs %y, %x return %a, %b update 1 -> %x)",
                 R"(
    %x = f32[] input() %y = f32[] input() %c = f32[] constant() {value=3} %a = f32[] exp(%x)
    %b = f32[] add(%y, %c) inputs %y, %x return %a, %b update 1 -> %x)");
}

TEST(Schedule, KeepsTheResultsOfAGroupBehindIt) {
  // The group reads only inputs and so runs late; the users of its second result wait for it.
  EXPECT_BECOMES(schedule, R"(
    %x = f32[8] input()
    %g = f32[8] fusion(%x) {shape=[8], axis=1} body {
      %x = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] abs(%x) return %a, %b }
    %h = f32[8] group_result(%g) {index=1}
    %s = f32[] reduce_sum(%x) {dims=[0]} %S = f32[8] broadcast(%s) {shape=[8], dims=[]}
    %1 = f32[8] add(%S, %h) %2 = f32[8] add(%1, %g) return %2)",
                 R"(
    %x = f32[8] input()
    %s = f32[] reduce_sum(%x) {dims=[0]} %S = f32[8] broadcast(%s) {shape=[8], dims=[]}
    %g = f32[8] fusion(%x) {shape=[8], axis=1} body {
      %x = f32[8] input() %a = f32[8] exp(%x) %b = f32[8] abs(%x) return %a, %b }
    %h = f32[8] group_result(%g) {index=1}
    %1 = f32[8] add(%S, %h) %2 = f32[8] add(%1, %g) return %2)");
}

TEST(Schedule, RunsWideBranchesOneAfterTheOther) {
  // Breadth first keeps all four large values alive, depth first one.
  const Graph before = parse(R"(
    %x = f32[] input()
    %a = f32[1000] broadcast(%x) {shape=[1000], dims=[]} %b = f32[1000] exp(%a)
    %c = f32[1000] negate(%a) %d = f32[1000] abs(%a) %e = f32[1000] sqrt(%a)
    %B = f32[] reduce_sum(%b) {dims=[0]} %C = f32[] reduce_sum(%c) {dims=[0]}
    %D = f32[] reduce_sum(%d) {dims=[0]} %E = f32[] reduce_sum(%e) {dims=[0]}
    %1 = f32[] add(%B, %C) %2 = f32[] add(%D, %E) %3 = f32[] add(%1, %2) return %3)",
                             "t.ir");
  EXPECT_GE(peak_of_order(before), 5 * 4000);
  EXPECT_LE(peak_of_order(schedule(before, Target{})), 2 * 4000 + 64);
}

TEST(Schedule, RunsAnUpdateAfterTheOtherReadersOfWhatItReplaces) {
  EXPECT_BECOMES(schedule, R"(
    %w = f32[8] input() %v = f32[8] reshape(%w) {shape=[8]}
    %next = f32[8] negate(%w) %other = f32[8] exp(%v) return %next, %other update 0 -> %w)",
                 R"(
    %w = f32[8] input() %v = f32[8] reshape(%w) {shape=[8]}
    %other = f32[8] exp(%v) %next = f32[8] negate(%w) return %next, %other update 0 -> %w)");
}

TEST(Schedule, LeavesAnUpdateWhereItIsIfAReaderOfTheOldValueNeedsTheNew) {
  EXPECT_STAYS(schedule, R"(
    %w = f32[8] input() %next = f32[8] negate(%w) %n = f32[8] exp(%next)
    %both = f32[8] add(%w, %n) return %next, %both update 0 -> %w)");
}

TEST(Schedule, KeepsGraphsValidAndIsDeterministic) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const Graph before = testing::random_graph(seed, *rc::gen::inRange(1, 80)).graph;
    const Graph once = schedule(before, Target{});
    verify(once, "schedule");
    RC_ASSERT(once.size() == before.size());
    RC_ASSERT(once.inputs.size() == before.inputs.size());
    RC_ASSERT(print(once) == print(schedule(before, Target{})));
  }));
}

}  // namespace
}  // namespace lockstep
